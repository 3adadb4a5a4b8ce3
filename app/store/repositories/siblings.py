"""Series of the same benchmark and metric."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store.tables import BenchmarkCase, Series


def of_benchmark(
    session: Session, series: Series, benchmark: str, limit: int
) -> Sequence[tuple[Series, BenchmarkCase]]:
    """Return the project's other series of a benchmark with the same metric and unit, those of the same case first."""
    rows = session.execute(
        select(Series, BenchmarkCase)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(
            BenchmarkCase.project_id == series.project_id,
            BenchmarkCase.benchmark == benchmark,
            Series.metric == series.metric,
            Series.unit == series.unit,
            Series.id != series.id,
        )
        .order_by(Series.case_id != series.case_id, Series.device_class != series.device_class, Series.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in rows]
