"""Results from elsewhere: what is posted, and what is said to it. docs/api-results.md has the rules."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.answers.errors import ProblemAnswer
from app.api.answers.one_series import PREVIOUS, SHA, TIME
from app.api.answers.shape import Answer, maybe, told


class PostedResult(Answer):
    """The values of one metric of one case."""

    benchmark: str = told("A name.", "resize")
    params: dict[str, str | int | float | bool | None] = maybe(
        "What tells this case from others of the benchmark.", {"batch": 32, "dtype": "bf16"}
    )
    metric: str = told("A name.", "latency_p50")
    unit: str = told("Such as `ms`, `GiB`, `tokens/s`; `1` for a plain number.", "ms")
    better: Literal["lower", "higher"] = told("Which way is better.", "lower")
    values: list[float] = told("The repeated measurements in their order.", [1.913, 1.921, 1.917])
    low: float | None = maybe("Lower end of a spread, where the measurements were not kept.", None)
    high: float | None = maybe("Upper end.", None)


class PostedDocument(Answer):
    """What was measured at one commit on one device class."""

    project: str = told("The project's name.", "acme/vision")
    commit: str = told("The full id: 40 or 64 hexadecimal digits.", SHA)
    parent: str | None = maybe("The full id of the commit before it.", PREVIOUS)
    branch: str | None = maybe("The branch whose history it is of.", "main")
    time: datetime | None = maybe("When the commit was made.", TIME)
    author: str | None = maybe("The commit's author.", "Ada")
    subject: str | None = maybe("The first line of its message.", "Use cubic filter")
    position: int | None = maybe("Its number in first-parent order, from 0.", 1200)
    measured_at: datetime | None = maybe("When it was measured, of what is posted later than that.", None)
    device_class: str = told("What it was measured on.", "nvidia-h100-sxm5-80gb")
    environment: dict[str, Any] = maybe("Whatever could explain a change.", {"driver": "570.86.15"})
    results: list[PostedResult] = told("1 to 10 000 results.")


class ExtendedSeriesAnswer(Answer):
    """The series that a result extended."""

    id: int = told("Its number.", 34)
    benchmark: str = told("The benchmark's name.", "resize")
    metric: str = told("The metric.", "latency_p50")
    n: int = told("How many results it has now.", 7)
    new: bool = told("Whether this result began it.", False)


class StoredAnswer(Answer):
    """What was stored."""

    run: str = told("The post's name, as `/runs/{run}` takes it.", "upload-12")
    series: list[ExtendedSeriesAnswer] = told("One for each result, in their order.")


class BatchLineAnswer(Answer):
    """What became of one document; `errors` only where it was refused, all else only where it was not."""

    status: Literal["stored", "known", "refused"] = told("What became of it.", "stored")
    run: str | None = maybe("The post's name; null where all was known.", "upload-13")
    stored: int | None = maybe("Results that were stored.", 50)
    known: int | None = maybe("Results that were there.", 0)
    errors: list[ProblemAnswer] | None = maybe("What is wrong with it.", None)


class BatchAnswer(Answer):
    """What became of a batch."""

    documents: list[BatchLineAnswer] = told("One for each line.")
    stored: int = told("Results that were stored.", 50)
    known: int = told("Results that were there.", 0)
