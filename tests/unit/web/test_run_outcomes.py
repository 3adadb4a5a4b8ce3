"""How a run ended and what became of its invocations, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.domain.jobs import Outcome
from app.domain.results import CommitRef
from app.services.list_runs import RunLine
from app.services.read_run import InvocationLine
from app.web import run_outcomes

BUSY = "host_cpu: 1.4 of them, where 0.5 may be"


def invocation(**fields: Any) -> InvocationLine:
    usual: dict[str, Any] = {
        "number": 1,
        "arm": "base",
        "pair": 1,
        "block": 1,
        "position": 1,
        "status": "ok",
        "reason": "",
        "log_tail": "",
        "is_void": False,
        "void_reason": None,
        "flags": (),
        "started_at": datetime(2026, 11, 23, tzinfo=UTC),
        "after_s": 0.0,
        "duration_s": 1.0,
        "exit_code": 0,
    }
    return InvocationLine(**usual | fields)


def line(outcome: Outcome | None, n_invocations: int, n_ok: int) -> RunLine:
    return RunLine(
        id=1,
        project="acme/vision",
        suite="inference",
        device_class="cpu-test-2t",
        worker="bench-01",
        base=None,
        head=CommitRef("b83e07d1"),
        attempt=1,
        max_attempts=1,
        outcome=outcome,
        phase="",
        reason=None,
        message=None,
        device_s=1.0,
        budget_s=60.0,
        started_at=datetime(2026, 11, 23, tzinfo=UTC),
        ended_at=None,
        n_invocations=n_invocations,
        n_void=0,
        n_ok=n_ok,
    )


FINE, VOID, PARTLY = (
    invocation(),
    invocation(is_void=True, void_reason="ecc: one"),
    invocation(void_reason=BUSY),
)


@pytest.mark.parametrize(
    ("outcome", "n", "n_ok", "name"),
    [
        (Outcome.OK, 2, 0, "benchmark failed"),
        (Outcome.OK, 2, 1, "measured"),
        (Outcome.OK, 0, 0, "measured"),
        (Outcome.LOST, 1, 0, "worker lost"),
        (None, 1, 0, "running"),
    ],
)
def test_a_run_whose_every_invocation_failed_is_a_benchmark_that_failed(
    outcome: Outcome | None, n: int, n_ok: int, name: str
) -> None:
    assert run_outcomes.outcome_word(line(outcome, n, n_ok)).name == name


@pytest.mark.parametrize(
    ("invocations", "counts", "sentence"),
    [
        ([FINE] * 4, "", "None of 4 is void."),
        ([VOID, FINE], ", 1 void", "1 of 2 is void: kept, but not counted, and measured again."),
        ([VOID, VOID, FINE], ", 2 void", "2 of 3 are void: kept, but not counted, and measured again."),
        ([PARTLY, FINE], ", 1 void in part", "None of 2 is void. One is void in part"),
        ([PARTLY, PARTLY, FINE], ", 2 void in part", "None of 3 is void. 2 are void in part"),
        ([VOID, PARTLY], ", 1 void, 1 void in part", "measured again. Another is void in part"),
        ([VOID, PARTLY, PARTLY], ", 1 void, 2 void in part", "2 others are void in part: other programs"),
    ],
)
def test_what_a_busy_processor_spoils_is_told_apart_from_what_is_void(
    invocations: list[InvocationLine], counts: str, sentence: str
) -> None:
    assert run_outcomes.void_counts(invocations) == counts
    assert sentence in run_outcomes.voids_sentence(invocations)


def test_an_invocation_is_called_what_became_of_it() -> None:
    broken = invocation(status="failed", void_reason=BUSY)
    shown = [run_outcomes.invocation_word(one).name for one in (FINE, VOID, PARTLY, broken)]
    assert shown == ["ok", "void", "void in part", "failed"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"reason": "exit_code: it ended with exit status 3", "exit_code": 3}, "It ended with exit status 3"),
        ({"reason": "it crashed", "exit_code": 3}, "It crashed, exit status 3"),
        ({"is_void": True}, "Void"),
        ({}, ""),
    ],
)
def test_an_exit_status_is_told_once(fields: dict[str, Any], told: str) -> None:
    assert run_outcomes.remark(invocation(**fields)) == told


def test_device_time_beyond_what_was_granted_says_what_it_went_to() -> None:
    assert run_outcomes.device_time("17 s", "18 s", is_over=False) == "17 s of 18 s"
    over = run_outcomes.device_time("19 s", "18 s", is_over=True)
    assert over == "19 s, the control workload at the end included; no pair begins after 18 s"
