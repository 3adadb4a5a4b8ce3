"""What the raw values of a run come to: all that checks show of them but the values themselves.

It is made of the values while they are kept. Before they are dropped it is stored with the run, and read from there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from sqlalchemy.orm import Session

from app.analysis.judge import Kind, Levels, levels_of
from app.domain.results import VoidPair
from app.services.judge_run import pairs_of
from app.services.voids import is_void
from app.store.repositories import runs
from app.store.repositories.runs import ArmValue, CaseWork
from app.store.tables import Run


@dataclass(frozen=True)
class RunSummary:
    """What a run's values come to; `levels` by the id of the verdict, `usual_flags` by that of the case."""

    pairs: int
    void_pairs: tuple[VoidPair, ...]
    levels: Mapping[int, Levels]
    usual_flags: Mapping[int, tuple[str, ...]]
    work: tuple[CaseWork, ...]


def summary_of(session: Session, run: Run, values: Sequence[ArmValue]) -> RunSummary:
    """Return what the run's values come to: as it was stored where they are gone, else of these, which are all."""
    if run.summary is None and not values:
        session.refresh(run, ["summary"])  # they may have gone since the run was read
    return summarise(session, run, values) if run.summary is None else _read(run.summary)


def summarise(session: Session, run: Run, values: Sequence[ArmValue] | None = None) -> RunSummary:
    """Return what these values of the run come to; without any, all that it has."""
    found = runs.arm_values(session, run.id) if values is None else values
    by_case: dict[int, list[ArmValue]] = defaultdict(list)
    for value in found:
        by_case[value.case_id].append(value)
    pairs = {case_id: pairs_of(its) for case_id, its in by_case.items()}
    return RunSummary(
        pairs=len({value.pair_index for value in found}),
        void_pairs=_void_pairs(found),
        levels={
            row.id: levels_of(
                pairs.get(case.id, {}).get(row.metric, ()), cast("Kind", row.kind), row.n_pairs or None
            )
            for row, case in runs.verdict_rows(session, run.id)
        },
        usual_flags=runs.usual_flags(session, run.id),
        work=tuple(runs.work_of(session, run.id)),
    )


def _void_pairs(values: Sequence[ArmValue]) -> tuple[VoidPair, ...]:
    void = {
        v.pair_index: VoidPair(v.pair_index, v.void_reason or "void", v.arm) for v in values if is_void(v)
    }
    return tuple(void[pair] for pair in sorted(void))


def stored(summary: RunSummary) -> dict[str, Any]:
    """Return the summary as it is stored with its run: plain JSON."""
    return {
        "pairs": summary.pairs,
        "void_pairs": [asdict(pair) for pair in summary.void_pairs],
        "levels": {str(row_id): list(levels) for row_id, levels in summary.levels.items()},
        "usual_flags": {str(case_id): list(flags) for case_id, flags in summary.usual_flags.items()},
        "work": [asdict(work) for work in summary.work],
    }


def _read(stored: Mapping[str, Any]) -> RunSummary:
    return RunSummary(
        pairs=stored["pairs"],
        void_pairs=tuple(VoidPair(**pair) for pair in stored["void_pairs"]),
        levels={int(row_id): Levels(*levels) for row_id, levels in stored["levels"].items()},
        usual_flags={int(case_id): tuple(flags) for case_id, flags in stored["usual_flags"].items()},
        work=tuple(CaseWork(**work) for work in stored["work"]),
    )
