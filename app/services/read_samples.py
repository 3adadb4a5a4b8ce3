"""The results of one run or upload with every value behind them, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median, quantiles

from sqlalchemy.orm import Session

from app.domain.results import case_label
from app.store.repositories import samples
from app.store.repositories.samples import Source, StoredSample

PAGE = 12
"""Series on one page."""


@dataclass(frozen=True)
class ArmSample:
    """The values of one arm in the order in which they were measured, and how those that count are spread.

    Where the values are no longer kept there are none, but the median of `n` of them, from `low` to `high`.
    """

    arm: str
    sha: str
    values: tuple[float, ...]
    void: frozenset[int]
    """Indices of values that are kept and do not count."""
    flags: tuple[str, ...]
    value: float
    low: float
    high: float
    n: int

    @property
    def counted(self) -> list[float]:
        """The values that count; all of them where none does."""
        return [value for i, value in enumerate(self.values) if i not in self.void] or list(self.values)

    @property
    def spread(self) -> tuple[float, float, float, float, float]:
        """The smallest value, the quartiles, and the largest."""
        its = self.counted
        if len(its) < 2:
            return (its[0],) * 5
        lower, _, upper = quantiles(its, n=4, method="inclusive")
        return min(its), lower, median(its), upper, max(its)


@dataclass(frozen=True)
class SampledSeries:
    """What a run has of one series: a sample of each arm, or of the one commit that was posted."""

    series_id: int
    label: str
    metric: str
    unit: str
    better: str
    device_class: str
    version: str
    arms: tuple[ArmSample, ...]


@dataclass(frozen=True)
class SamplePage:
    """A page of the series that a run has results of; `total` of them are on `n_pages`."""

    series: tuple[SampledSeries, ...]
    total: int
    page: int
    n_pages: int

    @property
    def kept(self) -> set[bool]:
        """Whether values are still kept, of the results on this page: both where they are of some."""
        return {bool(arm.values) for series in self.series for arm in series.arms}


def read_samples(session: Session, source: Source, its_id: int, page: int) -> SamplePage:
    """Return page `page` (from 1) of the results of the run or upload, in two statements."""
    total = samples.n_series(session, source, its_id)
    rows = samples.of(session, source, its_id, after=(page - 1) * PAGE, limit=PAGE) if total else []
    grouped = (list(group) for _, group in groupby(rows, key=lambda row: row.number))
    return SamplePage(tuple(map(_series, grouped)), total, page, max(1, -(-total // PAGE)))


def _series(rows: Sequence[StoredSample]) -> SampledSeries:
    first = rows[0]
    return SampledSeries(
        series_id=first.series_id,
        label=case_label(first.benchmark, first.params),
        metric=first.metric,
        unit=first.unit,
        better=first.better,
        device_class=first.device_class,
        version=first.version,
        arms=tuple(
            ArmSample(
                arm=row.arm,
                sha=row.sha,
                values=tuple(row.values or ()),
                void=frozenset(row.void),
                flags=tuple(row.flags),
                value=row.value,
                low=row.low,
                high=row.high,
                n=row.n,
            )
            for row in rows
        ),
    )
