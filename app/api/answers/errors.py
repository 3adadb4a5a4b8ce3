"""What is answered where something is wrong."""

from __future__ import annotations

from app.api.answers.shape import Answer, maybe, told


class ProblemAnswer(Answer):
    """One thing that is wrong with what was sent."""

    path: str = told("Where: a key of the body, or `query.…`, `path.…`, `header.…`.", "query.limit")
    code: str = told("What, for programs.", "less_than_equal")
    message: str = told("What, for people.", "Input should be less than or equal to 10000")
    line: int | None = maybe("The line of a text, where it has lines.", 3)


class ErrorAnswer(Answer):
    """What every error is answered with."""

    code: str = told("What was wrong, for programs.", "not_found")
    message: str = told(
        "What was wrong and what to do, for people.", "there is no series 34 that you may see"
    )
    errors: list[ProblemAnswer] | None = maybe("Up to 50 problems, of what was refused with 422.")


MEANING = {
    304: "What `If-None-Match` names is what there is: nothing has changed.",
    400: "What is asked for cannot be understood.",
    401: "No token, or none that is good.",
    403: "The token may not do this.",
    404: "It is not there, or the token may not see it.",
    409: "It contradicts what is there.",
    413: "The body is too large.",
    422: "What was sent is refused; `errors` says what of it.",
    503: "The service is away for a moment; `Retry-After` says for how long.",
    507: "The service's disk is full.",
}
"""HTTP's status -> what it means."""
