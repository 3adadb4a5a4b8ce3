"""What counts as a change of a series: how its metric is compared, and the effects that its settings name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.domain.metrics import metric
from app.settings import GateSettings
from app.store.repositories import runs
from app.store.repositories.history import Examined


@dataclass(frozen=True)
class SeriesThresholds:
    """`minimum_effect` is a share, `tolerance_ln` in ln units; `exact` metrics are compared without statistics."""

    exact: bool
    minimum_effect: float
    tolerance_ln: float


def thresholds_of(session: Session, series: Examined, run_id: int) -> SeriesThresholds:
    """Return the thresholds of a series by the run of its newest point, 0 where that was posted.

    What our own agents measured was planned with the settings of its commit. For what was posted the newest check of
    the project tells its settings; without any the defaults hold, and the catalogue says whether the metric is exact.
    """
    planned = runs.plan_of(session, run_id, series.case_id, series.metric) if run_id else None
    if planned is not None:
        kind, plan = planned
        return _thresholds(kind == "exact", plan)
    known, policy = metric(series.metric), series.policy
    own = policy["metrics"].get(series.metric, policy["default"]) if policy else _defaults()
    return _thresholds(known is not None and known.kind == "exact", own)


def _thresholds(exact: bool, effects: dict[str, Any]) -> SeriesThresholds:
    return SeriesThresholds(exact, math.expm1(effects["tau0"]), effects["tau"])


def _defaults() -> dict[str, float]:
    own = GateSettings().thresholds
    return {"tau0": own.minimum_effect_ln, "tau": own.tolerance_ln}
