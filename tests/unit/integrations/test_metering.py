"""What is noted of calls of GitHub: answers by status, calls without one, and quotas that can be read."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import httpx
import pytest

from app.integrations.forge import Quota
from app.integrations.github.metering import Meter, quota_of

RESET = 1_900_000_000


def answer(status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def call(meter: Meter, response: httpx.Response | None) -> None:
    meter.asked(None)
    if response is not None:
        meter.answered("7", response)


def test_calls_are_counted_by_status_until_somebody_takes_them() -> None:
    meter = Meter()
    for status in (200, 200, 404):
        call(meter, answer(status))
    assert meter.take().calls == {"200": 2, "404": 1}
    assert meter.take().calls == {}


def test_a_call_that_nothing_came_of_is_counted_once() -> None:
    meter = Meter()
    call(meter, None)
    call(meter, answer())
    call(meter, None)
    assert meter.take().calls == {"200": 1, "none": 2}
    assert meter.take().calls == {}


def test_a_call_of_another_thread_that_goes_on_is_not_without_an_answer() -> None:
    meter = Meter()
    other = threading.Thread(target=meter.asked, args=(None,))
    other.start()
    other.join()
    call(meter, answer())
    assert meter.take().calls == {"200": 1}


def test_the_last_answer_says_what_is_left() -> None:
    meter = Meter()
    for remaining in ("41", "40"):
        call(meter, answer(x_ratelimit_remaining=remaining, x_ratelimit_reset=str(RESET)))
    assert meter.take().quotas == {"7": Quota(40, datetime.fromtimestamp(RESET, UTC))}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_ratelimit_remaining": "40"},
        {"x_ratelimit_remaining": "many", "x_ratelimit_reset": str(RESET)},
        {"x_ratelimit_remaining": "40", "x_ratelimit_reset": "9" * 30},
        {"x_ratelimit_remaining": "40", "x_ratelimit_reset": str(RESET), "x_ratelimit_resource": "search"},
    ],
)
def test_what_says_nothing_of_the_quota_is_left_alone(headers: dict[str, str]) -> None:
    assert quota_of(answer(**headers).headers) is None
