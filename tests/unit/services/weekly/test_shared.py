"""Many who want the same work at once: two do it, none is given what was begun before they asked."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.services.weekly.current import Shared

WITHIN_S = 10


class Work:
    """Work that takes as long as somebody lets it; each time something else comes of it."""

    def __init__(self) -> None:
        self.times = 0
        self.begun, self.may_end = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self) -> int:
        self.times += 1
        mine = self.times
        self.begun.release()
        assert self.may_end.acquire(timeout=WITHIN_S)
        return mine


@pytest.fixture
def pool() -> ThreadPoolExecutor:
    with ThreadPoolExecutor(20) as its:
        yield its


def wanted(shared: Shared[int], key: str) -> int:
    work = shared._works.get(key)
    return work.n_wanted if work else 0


def test_who_asks_while_it_is_done_shares_the_next(pool: ThreadPoolExecutor) -> None:
    shared, work = Shared[int](), Work()
    first = pool.submit(shared.of, "week", work)
    assert work.begun.acquire(timeout=WITHIN_S)
    others = [pool.submit(shared.of, "week", work) for _ in range(10)]
    while wanted(shared, "week") < 11:
        time.sleep(0.001)
    for _ in range(2):
        work.may_end.release()
    assert first.result(WITHIN_S) == 1, "what it asked for itself"
    assert {other.result(WITHIN_S) for other in others} == {2}, "begun after they had asked"
    assert work.times == 2
    assert shared._works == {}, "nothing is remembered for whom nobody waits"


def test_one_after_another_each_has_it_done_anew() -> None:
    shared, work = Shared[int](), Work()
    for n in (1, 2, 3):
        work.may_end.release()
        assert shared.of("week", work) == n


def test_different_keys_do_not_wait_for_each_other(pool: ThreadPoolExecutor) -> None:
    shared, slow, quick = Shared[int](), Work(), Work()
    waiting = pool.submit(shared.of, "all", slow)
    assert slow.begun.acquire(timeout=WITHIN_S)
    quick.may_end.release()
    assert shared.of("acme/vision", quick) == 1
    slow.may_end.release()
    assert waiting.result(WITHIN_S) == 1


def test_one_that_fails_fails_for_who_did_it_and_is_tried_by_the_next(pool: ThreadPoolExecutor) -> None:
    shared, work = Shared[int](), Work()

    def failing() -> int:
        work()
        raise ValueError("no week")

    first = pool.submit(shared.of, "week", failing)
    assert work.begun.acquire(timeout=WITHIN_S)
    second = pool.submit(shared.of, "week", lambda: 7)
    while wanted(shared, "week") < 2:
        time.sleep(0.001)
    work.may_end.release()
    with pytest.raises(ValueError, match="no week"):
        first.result(WITHIN_S)
    assert second.result(WITHIN_S) == 7
    assert shared._works == {}
