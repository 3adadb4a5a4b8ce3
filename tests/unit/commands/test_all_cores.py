"""Work on forked processes: results in order, and nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from app.commands.all_cores import mapped
from app.domain.errors import UnavailableError

pytestmark = [
    # The interpreter warns of forks beside threads, which the test runner has; the command has none.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def test_results_come_in_order_from_other_processes():
    found = list(mapped(lambda item: (item, os.getpid()), range(50), n_processes=2))
    assert [item for item, _ in found] == list(range(50))
    assert os.getpid() not in {process for _, process in found}
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(("items", "n_processes"), [(range(5), 1), (range(1), 4), (range(0), 4)])
def test_what_one_process_can_do_is_done_here(items: range, n_processes: int):
    assert list(mapped(lambda item: os.getpid(), items, n_processes=n_processes)) == [os.getpid()] * len(
        items
    )


def test_no_process_is_left_where_results_are_not_wanted_any_more():
    results = mapped(lambda item: item, range(1000), n_processes=2)
    assert next(results) == 0
    assert multiprocessing.active_children()
    results.close()
    assert multiprocessing.active_children() == []


def test_error_of_the_work_reaches_the_caller_and_leaves_no_process():
    def work(item: int) -> float:
        return 1 / (item - 3)

    with pytest.raises(ZeroDivisionError):
        list(mapped(work, range(10), n_processes=2))
    assert multiprocessing.active_children() == []


def test_process_killed_from_outside_is_an_error_and_not_a_hang():
    def work(item: int) -> int:
        if item == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with pytest.raises(UnavailableError, match="enough memory"):
        list(mapped(work, range(10), n_processes=2))
    assert multiprocessing.active_children() == []


def test_ctrl_c_does_not_reach_the_processes_that_work():
    def work(item: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return item

    assert list(mapped(work, range(4), n_processes=2)) == [0, 1, 2, 3]
