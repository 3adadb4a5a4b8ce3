"""What the Python client cannot ask is refused in words before anything is sent; numpy's numbers are numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import httpx
import numpy as np
import pytest

from ratchet_perf import NotFoundError, Ratchet, Result, UsageError

SHA = "4f1d2c9ab07e6d5583b1c2ef90a4477d1e6c3b58"


class Listener:
    """A service that has nothing of what it is asked for, and takes every post."""

    def __init__(self) -> None:
        self.heard = list[httpx.Request]()
        self.ratchet = Ratchet("http://s", "t", patience_s=0, transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.heard.append(request)
        if request.method == "POST":
            return httpx.Response(201, json={"run": "upload-1", "series": []})
        return httpx.Response(404, json={"code": "not_found", "message": "there is none"})


@pytest.fixture
def listener() -> Listener:
    return Listener()


def post(ratchet: Ratchet, results: Any = None, **fields: Any) -> None:
    ratchet.post_results("p", SHA, "cpu", [result()] if results is None else results, **fields)


def result(**fields: Any) -> Result:
    return Result(
        **{"benchmark": "resize", "metric": "m", "unit": "s", "better": "lower", "values": [1.0]} | fields
    )


@pytest.mark.parametrize("token", ["secret\n", "  secret ", "\tsecret\r\n"])
def test_blanks_around_a_token_are_none_of_it(token: str) -> None:
    assert Ratchet("http://s", token)._transport.http.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("token", ["hush\nhush", "hüsh", "hush hush", "hush\x00", "hush\ud800", b"hush"])
def test_what_is_no_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(UsageError, match="one line of ASCII") as caught:
        Ratchet("http://s", token)
    assert "sh" not in str(caught.value)


def test_token_of_the_environment_is_looked_at_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RATCHET_TOKEN", "hush\nhush")
    with pytest.raises(UsageError, match="RATCHET_TOKEN"):
        Ratchet("http://s")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda its: its.series("\ud800"), r"'\\ud800' cannot be sent"),
        (lambda its: its.series("x" * 70_000), "'query' too long"),
        (lambda its: its.trend("x"), "'x' is no series: right is .* its id"),
        (lambda its: its.trend(1.5), "1.5 is no series"),
        (lambda its: its.alert("x"), "'x' is no alert"),
        (lambda its: its.run(""), "'' is no run: right is 12 .* 'upload-3'"),
        (lambda its: its.run("../series"), "'../series' is no run"),
        (lambda its: its.run("\ud800"), "is no run"),
        (lambda its: its.run(1.5), "1.5 is no run"),
        (lambda its: its.runs(limit="all"), "limit='all'"),
        (lambda its: post(its, key="é"), "'é' is no key of a post: right are up to 255"),
        (lambda its: post(its, key="a\nb"), r"'a\\nb' is no key"),
        (lambda its: post(its, [result(params={"a": {1}})]), r"\{1\} cannot be posted: right are texts"),
        (lambda its: post(its, [result(params={(1, 2): 3})]), "keys must be"),
        (lambda its: post(its, [result(params=None)]), "params of 'resize' are None: right is a dict"),
        (lambda its: post(its, [result(values=1.0)]), "values of 'resize' are 1.0: right is a list"),
        (lambda its: post(its, [result(values="12")]), "values of 'resize' are '12'"),
        (lambda its: post(its, [result(values=["fast"])]), r"values of 'resize' are \['fast'\]"),
        (lambda its: post(its, {"benchmark": "b"}), "'benchmark' cannot be posted: right is a list of Result"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said_and_not_sent(
    ask: Callable[[Ratchet], Any], said: str, listener: Listener
) -> None:
    with pytest.raises(UsageError, match=said):
        ask(listener.ratchet)
    assert listener.heard == []


@pytest.mark.parametrize(
    ("ask", "path"),
    [
        (lambda its: its.run(12), "/api/v1/runs/12"),
        (lambda its: its.run(np.int64(12)), "/api/v1/runs/12"),
        (lambda its: its.run("upload-3"), "/api/v1/runs/upload-3"),
        (lambda its: its.trend(np.int64(3)), "/api/v1/series/3/trend"),
    ],
)
def test_number_is_asked_for_whatever_counts_it(
    ask: Callable[[Ratchet], Any], path: str, listener: Listener
) -> None:
    with pytest.raises(NotFoundError):
        ask(listener.ratchet)
    assert listener.heard[0].url.path == path


def test_state_by_itself_is_one_name(listener: Listener) -> None:
    with pytest.raises(NotFoundError):
        listener.ratchet.changes("p", states="confirmed")
    assert listener.heard[0].url.params.get_list("state") == ["confirmed"]


def test_what_numpy_counts_is_posted_as_numbers(listener: Listener) -> None:
    params = {"batch": np.int64(32), "share": np.float32(0.5), "warm": np.bool_(True)}
    told = result(params=MappingProxyType(params), values=np.array([1.0, 2.0]), low=np.float32(0.5))
    post(listener.ratchet, [told], environment=MappingProxyType({"kernel": "6.8.0"}))
    document = json.loads(listener.heard[0].content)
    (posted,) = document["results"]
    assert posted["params"] == {"batch": 32, "share": 0.5, "warm": True}
    assert (posted["values"], posted["low"]) == ([1.0, 2.0], 0.5)
    assert document["environment"] == {"kernel": "6.8.0"}
