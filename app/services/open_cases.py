"""Which cases of a run are still to be measured: the answer to every post of an agent."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.domain.verdicts import Verdict
from app.store.repositories import runs
from app.store.tables import BenchmarkCase, Job, Run
from workers.protocol import CaseId, OpenCases

HEAD_ONLY = (Verdict.NEW, Verdict.BASE_FAILS)
HEAD_ONLY_INVOCATIONS = 2
"""How often a case without a counterpart in base is measured: enough to begin its history."""


def open_cases(session: Session, job: Job, run: Run, cases: Sequence[BenchmarkCase]) -> OpenCases:
    """Return which cases of the run's plan have no verdict, and which are to be measured on head alone."""
    if job.cancel_requested_at is not None:
        return OpenCases(open=[], stop="cancelled")
    verdicts: dict[int, list[str | None]] = defaultdict(list)
    for case_id, verdict, _ in runs.states_of(session, run.id):
        verdicts[case_id].append(verdict)
    planned = {case.id: case for case in cases}
    alone = _head_only(session, run, verdicts)
    paired = [case_id for case_id, its in verdicts.items() if None in its]
    return OpenCases(
        open=[_id(planned[case_id]) for case_id in paired + alone],
        head_only=[_id(planned[case_id]) for case_id in alone],
    )


def _head_only(session: Session, run: Run, verdicts: dict[int, list[str | None]]) -> list[int]:
    if (run.arms or {}).get("head", {}).get("status") != "ok":
        return []
    alone = [case_id for case_id, its in verdicts.items() if any(v in HEAD_ONLY for v in its)]
    if not alone:
        return []
    seen = {(v.case_id, v.invocation_id) for v in runs.arm_values(session, run.id, alone) if v.arm == "head"}
    counts = Counter(case_id for case_id, _ in seen)
    return [case_id for case_id in alone if counts[case_id] < HEAD_ONLY_INVOCATIONS]


def _id(case: BenchmarkCase) -> CaseId:
    """Return the case as its agent named it: JSONB may have rewritten a number, the key has not."""
    return CaseId(benchmark=case.benchmark, params=json.loads(case.params_key))
