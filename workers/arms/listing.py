"""Which cases an arm has: from what listing and priming showed to what the service is told.

A benchmark that fails before its cases are known fails as the cases that the other arm has in the same file, so that
the service finds one name on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Self

from workers.protocol import CaseId, CaseListing, CaseMeasurement, MetricDecl

MAX_FAILURE = 2000
COLD = "cold_"
"""How the names of metrics begin that are about a start with empty caches."""


@dataclass(frozen=True)
class ListedCase:
    """A case and the file that it is in."""

    file: str
    case: CaseListing


@dataclass(frozen=True)
class ListedFailure:
    """Why a file, or one benchmark of it, could not be listed."""

    file: str
    benchmark: str | None
    reason: str
    log_tail: str = ""

    def concerns(self, listed: ListedCase) -> bool:
        """Tell whether a case of another arm is one that failed here."""
        return listed.file == self.file and self.benchmark in (None, listed.case.benchmark)

    @property
    def name(self) -> str:
        """The benchmark's name, as far as it is known."""
        return self.benchmark or PurePosixPath(self.file).stem.removeprefix("bench_")


@dataclass(frozen=True)
class Listing:
    """What one arm has, and what of it failed."""

    cases: list[ListedCase] = field(default_factory=list)
    failures: list[ListedFailure] = field(default_factory=list)

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Listing:
        """Return several listings as one."""
        whole = list(parts)
        return cls(
            [case for part in whole for case in part.cases], [f for part in whole for f in part.failures]
        )

    @property
    def files(self) -> set[str]:
        """The files of which anything is known."""
        return {case.file for case in self.cases} | {failure.file for failure in self.failures}

    def reported(self, other: Listing | None = None) -> list[CaseListing]:
        """Return the cases as the service is told; the failed ones too, by the names that `other` knows them by."""
        cases = [listed.case for listed in self.cases]
        known = {_key(case) for case in cases}
        for failure in self.failures:
            for case in _failed_cases(failure, other or Listing()):
                if _key(case) not in known:
                    known.add(_key(case))
                    cases.append(case)
        return cases

    @property
    def log_tail(self) -> str:
        """What the failures printed."""
        return "\n".join(failure.log_tail for failure in self.failures if failure.log_tail)


def has_cold_metric(listed: Iterable[CaseListing]) -> bool:
    """Tell whether one of these cases, once primed, reports what a start with empty caches costs."""
    return any(metric.metric.startswith(COLD) for case in listed for metric in case.metrics)


def primed(listed: Sequence[CaseListing], measured: Sequence[CaseMeasurement]) -> list[CaseListing]:
    """Return the cases with the metrics that priming showed, or why priming failed; what priming found is added."""
    shown = {measurement.case.key: measurement for measurement in measured}
    known = {_key(case) for case in listed}
    found = [
        CaseListing(benchmark=measurement.benchmark, params=measurement.params)
        for key, measurement in shown.items()
        if key not in known
    ]
    return [_after_priming(case, shown.get(_key(case))) for case in [*listed, *found]]


def _after_priming(case: CaseListing, measurement: CaseMeasurement | None) -> CaseListing:
    if measurement is None:
        return case
    if measurement.status != "ok":
        failure = f"{measurement.reason}\n{measurement.log_tail}".strip()[:MAX_FAILURE]
        return case.model_copy(update={"failure": failure or measurement.status})
    metrics = [
        MetricDecl(metric=value.metric, unit=value.unit, better=value.better, kind=value.kind)
        for value in measurement.values
    ]
    return case.model_copy(
        update={
            "metrics": metrics,
            "units": measurement.units,
            "dtype": measurement.dtype,
            "scaling": measurement.scaling,
            "timed_s": measurement.batches.total_s or None,
        }
    )


def _failed_cases(failure: ListedFailure, other: Listing) -> list[CaseListing]:
    reason = f"{failure.reason}\n{failure.log_tail}".strip()[:MAX_FAILURE]
    there = [listed.case for listed in other.cases if failure.concerns(listed)]
    if not there:
        return [CaseListing(benchmark=failure.name, failure=reason)]
    return [CaseListing(benchmark=case.benchmark, params=case.params, failure=reason) for case in there]


def _key(case: CaseListing) -> str:
    return CaseId(benchmark=case.benchmark, params=case.params).key
