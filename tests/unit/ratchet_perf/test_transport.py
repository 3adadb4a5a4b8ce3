"""How the Python client sends: again while the service is away, as long as it was told to, and errors in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ratchet_perf import (
    NotAllowedError,
    NotFoundError,
    Ratchet,
    RatchetError,
    RefusedError,
    UnavailableError,
    UsageError,
    to_frame,
)
from ratchet_perf.transport import Transport

OK = httpx.Response(200, json={"projects": []})
Answer = httpx.Response | Exception


class Script:
    """A service that gives these answers one after the other; nobody really waits."""

    def __init__(self, *answers: Answer, patience_s: float = 60.0) -> None:
        self.answers, self.waited, self.now, self.asked = (
            list(answers),
            list[float](),
            0.0,
            list[httpx.Request](),
        )
        self.ratchet = Ratchet(
            "http://s", "t", patience_s=patience_s, transport=httpx.MockTransport(self._answer)
        )
        self.ratchet._transport = Transport(
            self.ratchet._transport.http, patience_s, sleep=self._sleep, clock=lambda: self.now
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)

    def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds


def away(status: int = 503, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"code": "unavailable", "message": "just now not"}, headers=named)


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_the_service_asks(status: int) -> None:
    script = Script(away(status, retry_after="7"), away(status, retry_after="2"), OK)
    assert script.ratchet.projects() == ()
    assert script.waited == [7.0, 2.0]
    assert script.asked[-1].headers["authorization"] == "Bearer t"


def test_date_of_retry_after_that_has_gone_by_is_now() -> None:
    script = Script(away(retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), OK)
    script.ratchet.projects()
    assert script.waited == [0.0]


def test_without_a_wish_the_pauses_grow() -> None:
    script = Script(*[away(502)] * 4, httpx.ConnectError("refused"), OK)
    script.ratchet.projects()
    assert all(low <= wait <= 2 * low for wait, low in zip(script.waited, (0.25, 0.5, 1, 2, 4), strict=True))


@pytest.mark.parametrize(("patience_s", "times"), [(0.0, 1), (20.0, 3)])
def test_patience_ends(patience_s: float, times: int) -> None:
    script = Script(away(retry_after="10"), patience_s=patience_s)
    with pytest.raises(UnavailableError, match="just now not") as caught:
        script.ratchet.projects()
    assert (caught.value.status, len(script.asked)) == (503, times)


def test_silence_is_told_with_the_address() -> None:
    script = Script(httpx.ReadTimeout("timed out"), patience_s=0)
    with pytest.raises(UnavailableError, match=r"http://s.* does not answer: timed out"):
        script.ratchet.projects()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx.Response(400, json={"code": "x", "message": "m"}), UsageError),
        (httpx.Response(401, json={"code": "unauthenticated", "message": "m"}), NotAllowedError),
        (httpx.Response(404, json={"code": "not_found", "message": "there is no series 1"}), NotFoundError),
        (httpx.Response(404, json={"code": "not_found", "message": "Not Found"}), UsageError),
        (httpx.Response(404, text="<h1>nginx</h1>"), UsageError),
        (httpx.Response(200, text="<h1>nginx</h1>"), UsageError),
        (httpx.Response(302, headers={"location": "/sign-in"}), UsageError),
        (httpx.Response(413, json={"code": "too_large", "message": "m"}), RefusedError),
        (httpx.Response(500, text="oops"), UnavailableError),
    ],
)
def test_error_is_of_its_kind(answer: httpx.Response, kind: type[RatchetError]) -> None:
    script = Script(answer, patience_s=0)
    with pytest.raises(kind):
        script.ratchet.projects()


def test_refusal_lists_its_problems() -> None:
    told = {"code": "bad", "message": "m", "errors": [{"path": "results[0]", "code": "c", "message": "why"}]}
    with pytest.raises(RefusedError) as caught:
        Script(httpx.Response(422, json=told)).ratchet.projects()
    assert [(one.path, one.message) for one in caught.value.problems] == [("results[0]", "why")]


@pytest.mark.parametrize(
    "url",
    [
        "host:8440",
        "ftp://host",
        "http://",
        "",
        "http://[::1",
        "http://host:x",
        "http://a..b",
        "http://a b",
        5,
    ],
)
def test_address_that_is_none_is_refused_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RATCHET_URL", raising=False)
    with pytest.raises(UsageError, match="http://host:8440"):
        Ratchet(url)


def test_closed_at_the_end_of_its_block() -> None:
    with Script(OK).ratchet as ratchet:
        pass
    with pytest.raises(UsageError, match="closed"):
        ratchet.projects()


def test_answer_that_cannot_be_unpacked_is_none() -> None:
    with pytest.raises(UnavailableError, match="incorrect header check"):
        Script(httpx.DecodingError("incorrect header check"), patience_s=0).ratchet.projects()


def test_post_is_not_taken_for_stored_because_some_page_answers() -> None:
    with pytest.raises(UsageError, match="no address of a Ratchet service"):
        Script(httpx.Response(200, text="<h1>nginx</h1>")).ratchet.post_results("p", "c", "d", [])


def test_what_a_newer_service_tells_beyond_is_left_out() -> None:
    told = {"projects": [{"project": "p", "branch": "main", "series": 3, "new": "field"}]}
    (project,) = Script(httpx.Response(200, json=told)).ratchet.projects()
    assert project.series == 3


def test_runs_are_fetched_page_by_page_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratchet_perf.client._RUNS_A_PAGE", 2)
    run: dict[str, Any] = dict.fromkeys(
        [
            "kind",
            "project",
            "base",
            "head",
            "subject",
            "author",
            "device_class",
            "suite",
            "by",
            "outcome",
            "reason",
        ]
    )
    page: Callable[[str | None], httpx.Response] = lambda place: httpx.Response(  # noqa: E731
        200,
        json={
            "runs": [run | {"run": "1", "results": 1, "created_at": "2026-01-01T00:00:00Z", "ended_at": None}]
            * 2,
            "next": place,
        },
    )
    script = Script(page("5.7"), page(None))
    found = script.ratchet.runs(limit=9)
    assert (len(found), found.more) == (4, False)
    assert [request.url.params.get("before") for request in script.asked] == [None, "5.7"]


def test_frame_without_pandas_says_how_to_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pandas"):
        to_frame([])
