"""What is read beside a trend: a machine against the one most like it, the control against its usual, lost runs."""

from __future__ import annotations

from typing import Any

import pytest

from app.services.read_marks import FailedRun, TrendBudget, TrendMarks, arrivals_of, read_marks
from app.store.repositories.trend_marks import PROBES, ControlTimes, FailedRow, MachineRow, Marks, VoidRow
from app.store.repositories.trends import History, TrendColumns
from app.store.tables import BenchmarkCase, Project, Series
from workers.control.probes import GEMM_BF16, GEMM_FP32, SHORT

OLD = {"machine": {"driver": "550", "kernel": "6.8", "partition": None}}
OTHER = {"machine": {"driver": "470", "kernel": "5.4", "partition": None}}
NEW = {"machine": {"driver": "560", "kernel": "6.8", "partition": "1g"}}


def history(machines: list[int]) -> History:
    """A history of results 101, 102 and so on, each of the run of its row plus one."""
    n = len(machines)
    level = (1.0,) * n
    ids, runs = tuple(range(101, 101 + n)), tuple(range(1, n + 1))
    columns = TrendColumns(ids, level, level, level, (1,) * n, runs, tuple(machines))
    series = Series(id=1, metric="latency_p50", unit="s", better="lower", device_class="cpu")
    case = BenchmarkCase(benchmark="resize", params={})
    return History(series, case, Project(name="acme"), (("main", n),), "main", columns, ())


def read(measured_on: list[int], controls: int = 100, **stored: Any) -> TrendMarks:
    its = history(measured_on)
    return read_marks(its, arrivals_of(its.columns), Marks(**stored), range(len(measured_on)), controls)


def machine(row: int, told: dict[str, Any]) -> MachineRow:
    return MachineRow(101 + row, f"{row:040x}", "subject", told)


def test_a_new_machine_is_held_against_the_one_that_is_most_like_it() -> None:
    marks = read([7, 8, 7, 8, 9], machines=(machine(3, OTHER), machine(2, OLD), machine(4, NEW)))
    (epoch,) = marks.epochs
    assert (epoch.row, epoch.sha, marks.n_machines) == (4, f"{4:040x}", 3)
    assert [(fact.name, fact.before, fact.after) for fact in epoch.changes] == [("driver", "550", "560")]


def test_a_machine_that_only_tells_more_has_not_changed() -> None:
    more = {"machine": OLD["machine"] | {"partition": "1g", "memory_b": 8}}
    assert read([7, 9], machines=(machine(0, OLD), machine(1, more))).epochs == ()


def test_what_a_program_elsewhere_told_of_its_machine_is_taken_whole() -> None:
    marks = read([7, 9], machines=(machine(0, {"runner": "a"}), machine(1, {"runner": "b"})))
    assert [fact.name for fact in marks.epochs[0].changes] == ["runner"]


def test_the_control_is_told_against_its_usual_over_all_probes() -> None:
    times = ControlTimes((1, 2, 3), ((0.01, 0.01, 0.011), (0.0, 0.04, 0.044)))
    control = read([7, 7, 7, 7], control=(times,)).control
    assert (control.row, control.is_thinned) == ([0, 1, 2], False)
    assert control.deviation == pytest.approx([0.0, -0.0241, 0.0735], abs=1e-4)
    assert read([7] * 4, controls=2, control=(times,)).control.is_thinned


def test_of_several_devices_the_slowest_counts_and_other_kits_are_not_compared() -> None:
    first = ControlTimes((1, 1, 2, 2), ((0.010, 0.010, 0.010, 0.012),))
    second = ControlTimes((3,), ((5.0,),))
    assert read([7] * 3, control=(first, second)).control.deviation == pytest.approx([0.0, 0.2, 0.0])


def test_void_values_are_told_of_the_rows_that_are_shown() -> None:
    (void,) = read([7, 7], void=(VoidRow(102, 2, 12, ["ecc"]), VoidRow(999, 1, 2, None))).void
    assert (void.row, void.n_void, void.n_values, void.reasons) == (1, 2, 12, ("ecc",))


def test_a_lost_run_lies_after_the_result_that_was_there_before_it() -> None:
    lost = [
        FailedRow("a" * 40, "newest", 9, None, "infra", 500),
        FailedRow("b" * 40, "between", None, "head_fails", None, 101),
        FailedRow("c" * 40, "before all points", 1, None, None, 100),
        FailedRow("d" * 40, "first of all", 1, None, None, None),
    ]
    assert read([7, 7], failed=lost).failed == (
        FailedRun(1, "b" * 40, "between", None, "head_fails", None),
        FailedRun(2, "a" * 40, "newest", "9", None, "infra"),
    )


def test_the_first_budget_that_is_about_the_series_counts() -> None:
    budgets = [
        {"benchmark": "resize", "metric": "peak_memory", "max": 1.0, "min": None},
        {"benchmark": "res*", "metric": "latency_p50", "max": 0.05, "min": None},
        {"benchmark": "resize", "metric": "latency_p50", "max": 0.01, "min": None},
    ]
    assert read([7], budgets=budgets).budget == TrendBudget("res*", 0.05, None)
    assert read([7], budgets=budgets[:1]).budget is None


def test_the_probes_that_are_read_are_those_of_the_short_kit() -> None:
    matrix = {GEMM_BF16, GEMM_FP32}
    assert set(PROBES) == {probe for short in SHORT for probe in (matrix if short == "gemm" else {short})}
