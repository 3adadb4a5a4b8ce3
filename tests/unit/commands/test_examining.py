"""All series of a file examined: in order, the same on one core and on many, in ranges of like cost."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.detection import examine
from app.commands import examining
from app.commands.examining import Progress, chunks, examine_all
from app.formats.history_csv import Histories


def histories(*series: np.ndarray) -> Histories:
    sizes = [len(values) for values in series]
    x = np.concatenate([np.arange(size) for size in sizes])
    return Histories(
        tuple(f"s{n}" for n in range(len(series))), np.cumsum(sizes), x, np.concatenate(series).astype(float)
    )


def some_series() -> Histories:
    random = np.random.default_rng(3)
    made = [10 + 0.05 * random.standard_normal(n) for n in (60, 30, 90, 45, 30)]
    made[2][40:] *= 1.2
    return histories(*made)


@pytest.mark.parametrize("from_points", [0, 10**9])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_every_series_is_examined_in_order_on_any_number_of_cores(
    from_points: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(examining, "FORK_FROM_POINTS", from_points)
    monkeypatch.setattr(examining, "n_cores", lambda: 3)
    made = some_series()
    found = [one for some in examine_all(made, 0.01) for one in some]
    rows = [made.rows(index) for index in range(len(made))]
    assert found == [examine(made.values[at], made.x[at], minimum_effect=0.01) for at in rows]
    assert [bool(one.change_points) for one in found] == [False, False, True, False, False]


@given(cost=st.lists(st.integers(1, 10_000), max_size=200), n_processes=st.integers(1, 8))
def test_ranges_hold_every_series_once_and_in_order(cost: list[int], n_processes: int):
    ranges = chunks(np.array(cost, np.int64), n_processes)
    assert [index for start, end in ranges for index in range(start, end)] == list(range(len(cost)))
    assert len(ranges) <= n_processes * examining.CHUNKS_PER_PROCESS


def test_ranges_cost_alike_however_uneven_the_series():
    cost = np.array([10_000] + [10] * 10_000)
    totals = [int(cost[start:end].sum()) for start, end in chunks(cost, 2)]
    assert sorted(totals)[-1] == 10_000
    assert max(totals[1:]) < 2 * 110_000 / (2 * examining.CHUNKS_PER_PROCESS)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_after_a_moment_and_cleared():
    out, times = Terminal(), iter([0.0, 0.1, 1.0, 2.0])
    progress = Progress(9, out, lambda: next(times))
    progress.add(3)
    assert out.getvalue() == ""
    progress.add(3)
    assert out.getvalue() == "\rexamined 6 of 9 series"
    progress.clear()
    assert out.getvalue().endswith(f"\r{' ' * len('examined 6 of 9 series')}\r")


@pytest.mark.parametrize("out", [io.StringIO(), None])
def test_no_progress_is_drawn_where_nobody_watches(out: io.StringIO | None):
    times = iter(range(0, 100, 10))
    progress = Progress(9, out, lambda: next(times))
    progress.add(3)
    progress.clear()
    assert out is None or not re.search(".", out.getvalue())
