"""What Prometheus told of a week is remembered, and gone on with where it was not all."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import pytest

from app.domain.device_use import Seen, Told
from app.domain.week import parse_week
from app.integrations.dcgm import Gpu
from app.services.ask_activity import GpuName
from app.services.weekly.watch import AGAIN_S, FRESH_S, WEEKS, Watch

WEEK = parse_week("2026-W40")
GPUS = [GpuName(f"GPU-{n}", None, None) for n in range(3)]
AWAY = "nobody answers"


class Server:
    """Tells of some devices and then gives up, unless it may tell of all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.patience = 1_000.0, 10
        self.asked: list[list[str]] = []
        self.known = {its.uuid for its in GPUS}
        monkeypatch.setattr("app.integrations.dcgm.seen_in_steps", self.tell)
        monkeypatch.setattr("app.services.weekly.watch.time.monotonic", lambda: self.now)

    def tell(self, server: object, gpus: Sequence[Gpu], start: float, end: float) -> Told:
        self.asked.append([its.uuid for its in gpus])
        told = [its.uuid for its in gpus[: self.patience]]
        seen = {uuid: Seen(start, 300.0, [self.now, nan]) for uuid in told if uuid in self.known}
        if len(told) < len(gpus):
            return Told(seen, AWAY, is_unanswered=True)
        return Told(seen, None if seen else "nothing of these")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


@pytest.fixture
def watch() -> Watch:
    its: Any = object()
    return Watch(its)


def test_an_answer_is_fresh_for_a_while_and_of_other_devices_none(server: Server, watch: Watch) -> None:
    first = watch.of(WEEK, GPUS)
    server.now += FRESH_S - 1
    assert watch.of(WEEK, GPUS) is first
    watch.of(WEEK, GPUS[:2])
    assert server.asked == [["GPU-0", "GPU-1", "GPU-2"], ["GPU-0", "GPU-1"]]
    server.now += FRESH_S + 1
    assert watch.of(WEEK, GPUS[:2]).seen["GPU-0"].busy[0] == server.now


def test_what_was_not_told_is_asked_for_again_and_the_rest_is_kept(server: Server, watch: Watch) -> None:
    server.patience = 1
    assert set(watch.of(WEEK, GPUS).seen) == {"GPU-0"}
    assert len(server.asked) == 1
    for n in (2, 3):
        server.now += AGAIN_S + 1
        told = watch.of(WEEK, GPUS)
        assert len(told.seen) == n
    assert (told.reason, told.is_unanswered) == (None, False)
    assert server.asked == [["GPU-0", "GPU-1", "GPU-2"], ["GPU-1", "GPU-2"], ["GPU-2"]]


def test_a_device_that_nobody_knows_is_no_reason_where_others_were_told(server: Server, watch: Watch) -> None:
    server.known, server.patience = {"GPU-0"}, 1
    watch.of(WEEK, GPUS)
    server.now, server.patience = server.now + AGAIN_S + 1, 10
    told = watch.of(WEEK, GPUS)
    assert (set(told.seen), told.reason) == ({"GPU-0"}, None)


def test_a_server_that_is_away_takes_nothing_back_and_is_asked_for_all_again_in_the_end(
    server: Server, watch: Watch
) -> None:
    watch.of(WEEK, GPUS)
    server.now, server.patience = server.now + FRESH_S + 1, 0
    told = watch.of(WEEK, GPUS)
    assert (len(told.seen), told.reason, told.is_unanswered) == (3, AWAY, True)
    server.now += AGAIN_S + 1
    assert watch.of(WEEK, GPUS).is_unanswered, "asked again: what it told before is of before"
    server.now, server.patience = server.now + FRESH_S + 1, 10
    assert {seen.busy[0] for seen in watch.of(WEEK, GPUS).seen.values()} == {server.now}


def test_the_weeks_that_were_asked_for_last_are_remembered(server: Server, watch: Watch) -> None:
    for back in range(WEEKS + 1):
        watch.of(WEEK.before(back), GPUS)
    assert len(server.asked) == WEEKS + 1
    watch.of(WEEK.before(1), GPUS)
    assert len(server.asked) == WEEKS + 1
    watch.of(WEEK, GPUS)
    assert len(server.asked) == WEEKS + 2
