"""What holds cases back, by the newest numbers of a week, from rows written by hand."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.domain.weekly_bottlenecks import CaseBottleneck
from app.services.weekly.bottlenecks import bottlenecks_week
from app.store.repositories import runs
from app.store.tables import Commit, Job, Run, Timing
from tests.factories.browser import counted
from tests.factories.weekly import WEEK, Rows, at

pytestmark = pytest.mark.postgres


@pytest.fixture
def rows(session: Session) -> Rows:
    return Rows(session)


def found(rows: Rows) -> dict[str, CaseBottleneck]:
    return {its.benchmark: its for its in bottlenecks_week(rows.session, rows.scope(), WEEK)}


def numbers(rows: Rows, commit: Commit, place: float, benchmark: str = "decode", **metrics: float) -> None:
    for metric, value in metrics.items():
        rows.result(rows.series(benchmark, metric), commit, value, place)


def test_the_newest_numbers_by_the_weeks_end_tell_the_class_and_later_ones_do_not(rows: Rows) -> None:
    numbers(rows, rows.commit("a", at(-8)), 1.0, bandwidth_util=0.2)
    numbers(rows, rows.commit("b", at(6.9)), 2.0, bandwidth_util=0.62, mfu=0.11)
    numbers(rows, rows.commit("c", at(7)), 3.0, mfu=0.9)
    its = found(rows)["decode"]
    assert (its.commit, its.found.bottleneck, its.at) == ("b" * 40, "memory", at(6.9))
    assert its.roof == ("bandwidth_util", 0.62)
    assert its.found.decisive == "the declared bytes take 62 % of the memory's peak bandwidth"
    assert [one.code for one in its.advice] == ["fuse_kernels"]
    assert its.advice[0].evidence == its.found.decisive
    assert not its.has_timings


def test_numbers_of_another_commit_branch_version_or_without_a_place_are_left_out(rows: Rows) -> None:
    first, second = rows.commit("a", at(1)), rows.commit("b", at(2))
    numbers(rows, first, 1.0, mfu=0.7)
    numbers(rows, second, 2.0, input_wait_share=0.3)
    rows.result(rows.series("decode", "comm_share"), second, 0.9, 2.0, branch="topic")
    rows.result(rows.series("decode", "dram_active"), second, 0.9, None)
    rows.result(rows.series("decode", "hfu", version="newer"), second, 0.9, 2.0)
    its = found(rows)["decode"]
    assert its.found.signs == {"hfu": 0.9}, "of one commit, and of the newer version of the benchmark there"
    assert its.commit == "b" * 40


def test_a_case_that_nobody_measures_any_more_is_not_of_the_week(rows: Rows) -> None:
    numbers(rows, rows.commit("a", at(-40)), 1.0, mfu=0.7)
    assert found(rows) == {}


def measured(rows: Rows, commit: Commit, **signs: Any) -> Run:
    """A run of ours with this commit as its base: its last invocation tells signs of that arm and others of head."""
    device = rows.device("h100", kind="nvidia", model="NVIDIA H100 80GB HBM3", fingerprint={})
    job: Job = rows.job("h100", created=at(), base_commit_id=commit.id)
    run = rows.run(job, rows.attempt(job, [device], at(1), at(1, 1)))
    for arm, told in (("base", signs), ("head", {"util": 0.99})):
        invocation = rows.invocation(run, 0, arm=arm)
        rows.session.add(
            Timing(
                invocation_id=invocation.id, case_id=rows.case("decode").id, status="ok", k=1, clock="host",
                n_warmup=0, warmup_converged=True, host_ns=[10], device_ns=[], spike=[], thinned=1, flags=[],
                work={"dtype": "torch.bfloat16", "signs": told, "units": {}},
            )
        )  # fmt: skip
    rows.session.flush()
    return run


def test_signs_of_the_runs_timings_are_added_with_the_dtype_and_the_devices_peaks(rows: Rows) -> None:
    commit = rows.commit("a", at(1))
    run = measured(rows, commit, tensor_active=0.04, sm_active=0.9)
    rows.result(rows.series("decode", "mfu"), commit, 0.06, 1.0, run_id=run.id, arm="base")
    its = found(rows)["decode"]
    assert its.found.signs == {"tensor_active": 0.04, "sm_active": 0.9, "mfu": 0.06}
    assert (its.dtype, its.has_timings, its.run) == ("bf16", True, str(run.id))
    assert [one.code for one in its.advice] == ["use_tensor_cores", "profile"]
    assert "14.8 times" in its.advice[0].evidence


def test_of_a_long_run_the_last_invocations_are_read(rows: Rows) -> None:
    commit = rows.commit("a", at(1))
    run = measured(rows, commit, util=0.5)
    for pair, util in enumerate((0.2, 0.3, 0.4), start=1):
        invocation = rows.invocation(run, pair, arm="base")
        rows.session.add(
            Timing(
                invocation_id=invocation.id, case_id=rows.case("decode").id, status="ok", k=1, clock="host",
                n_warmup=0, warmup_converged=True, host_ns=[10], device_ns=[], spike=[], thinned=1, flags=[],
                work={"signs": {"util": util}},
            )
        )  # fmt: skip
    rows.session.flush()

    def util(most: int | None) -> float:
        told = runs.works_of(rows.session, [run.id], most=most)[run.id]
        return next(one.numbers["util"] for one in told if one.arm == "base")

    assert (util(1), util(3), util(None)) == (0.4, 0.3, pytest.approx(0.35))
    assert [one.arm for one in runs.work_of(rows.session, run.id)] == ["base", "head"]
    assert runs.works_of(rows.session, [run.id + 1]) == {}


def test_a_hundred_cases_take_as_many_statements_as_one(rows: Rows) -> None:
    commit = rows.commit("a", at(1))
    run = measured(rows, commit, util=0.5)
    engine = rows.session.get_bind()
    for n in range(30):
        rows.result(rows.series(f"case{n}", "mfu"), commit, 0.3, 1.0, run_id=run.id)
    with counted(engine) as statements:  # type: ignore[arg-type]
        assert len(found(rows)) == 30
    assert len(statements) <= 5


def test_a_project_without_such_metrics_has_none(rows: Rows) -> None:
    rows.result(rows.series("decode", "latency_p50", unit="s"), rows.commit("a", at(1)), 0.1, 1.0)
    assert found(rows) == {}
