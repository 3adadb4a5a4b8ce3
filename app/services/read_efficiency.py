"""How well a run's cases use their devices: what holds each arm back, and where it lies under the roofs.

Shown where something is known of it: declared work, a metric of efficiency, time that waits, or what DCGM told. The
numbers are those that the verdicts of the same metrics rest on; what the devices did is the median over the
invocations that count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy.orm import Session

from app.accelerators.lookup import Figures
from app.accelerators.model import dtype_name
from app.analysis.efficiency.bottleneck import LOST_TIME, Signs, classify
from app.analysis.efficiency.roofline import Roofline, roofline
from app.domain.derived import Given
from app.domain.efficiency import (
    Activity,
    ArmEfficiency,
    CaseEfficiency,
    Evidence,
    Peak,
    Place,
    SuiteEfficiency,
)
from app.domain.results import CaseVerdict
from app.services.derive_values import Circumstances, circumstances
from app.store.repositories import fleet
from app.store.repositories.runs import CaseWork
from app.store.tables import Job, Run
from workers.protocol import params_key

SHARES = ("mfu", "hfu", "bandwidth_util", "input_wait_share", "comm_share")
"""Metrics that are signs of what holds a case back."""

EFFICIENCY = (
    *SHARES,
    "scaling_efficiency",
    "energy_per_iter",
    "energy_net_per_iter",
    "perf_per_watt",
    "cost_per_million_tokens",
    "cost_per_sample",
)
"""Metrics of which one is enough for a case to be shown."""

ACTIVE = ("sm_active", "tensor_active", "dram_active")
"""What DCGM tells that is a sign, too."""

ARMS = ("base", "head")

Numbers = Mapping[str, float]
Metrics = Mapping[str, CaseVerdict]
Work = Mapping[str, CaseWork]
"""By arm."""


def read_efficiency(
    session: Session,
    job: Job,
    run: Run,
    lease_id: str,
    cases: Sequence[CaseVerdict],
    done: Iterable[CaseWork],
) -> SuiteEfficiency | None:
    """Return how well the run's cases use its devices, by what they have `done`; None where nothing is known."""
    work: dict[str, dict[str, CaseWork]] = defaultdict(dict)
    for told in done:
        work[f"{told.benchmark} {told.params_key}"][told.arm] = told
    metrics: dict[str, dict[str, CaseVerdict]] = defaultdict(dict)
    for case in cases:
        metrics[f"{case.benchmark} {params_key(case.params)}"][case.metric] = case
    activity = tuple(_activity(run.activity))
    alone = _mean_shares(activity) if len(metrics) == 1 else {}
    shown = [key for key, of_case in metrics.items() if alone or _is_told(of_case, work[key])]
    if not shown and not activity:
        return None
    given = circumstances(job, fleet.devices_of_lease(session, lease_id), run.idle)
    found = [_Case(given, metrics[key], work[key], alone) for key in shown]
    return SuiteEfficiency(
        device=_device(given.figures, job.device_class),
        cases=tuple(case.efficiency() for case in found),
        peaks=tuple({case.peak.name: case.peak for case in found if case.peak}.values()),
        bandwidth=next((case.bandwidth for case in found if case.bandwidth), None),
        hint=given.figures.hint,
        activity=activity,
    )


def _is_told(metrics: Metrics, work: Work) -> bool:
    """Tell whether a case has a metric of efficiency, or says what it works off."""
    told = (metrics[name] for name in EFFICIENCY if name in metrics)
    if any(case.level(arm) is not None for case in told for arm in ARMS):
        return True
    return any({"flop", "bytes"} & one.numbers.keys() for one in work.values())


def _device(figures: Figures, device_class: str) -> str:
    entry = figures.accelerator
    return f"{entry.name} ({entry.part if figures.parts > 1 else entry.row})" if entry else device_class


# --- one case -------------------------------------------------------------------------------------------------


class _Case:
    """One case with what its run told of it; `alone` is what DCGM told, where this was the run's only case."""

    def __init__(self, given: Circumstances, metrics: Metrics, work: Work, alone: Numbers) -> None:
        self._given, self._metrics, self._work, self._alone = given, metrics, work, alone
        dtype = next((one.dtype for one in work.values() if one.dtype), None)
        self.dtype = dtype and (dtype_name(dtype) or dtype)
        self.peak = self._arithmetic_peak()
        self.bandwidth = self._peak("memory", "bandwidth_util", given.figures.bandwidth())

    def _arithmetic_peak(self) -> Peak | None:
        if self.dtype is None:
            return None
        return self._peak(self.dtype, "mfu", self._given.figures.peak(self.dtype))

    def _peak(self, name: str, metric: str, listed: Given) -> Peak | None:
        """Return the peak that a metric's values were made with; the one that is listed where that was not kept."""
        case = self._metrics.get(metric)
        kept = _input_named("peak", case.provenance) if case else None
        if kept is not None:
            return Peak(name, kept["value"], kept["origin"], kept["is_verified"])
        return None if listed.value is None else Peak(name, listed.value, listed.origin, listed.is_verified)

    def efficiency(self) -> CaseEfficiency:
        """Return what is known of the case."""
        one = next(iter(self._metrics.values()))
        base, head = map(self._arm, ARMS)
        return CaseEfficiency(one.benchmark, dict(one.params), self.dtype, base, head)

    def _arm(self, arm: str) -> ArmEfficiency | None:
        told = ((name, case.level(arm)) for name, case in self._metrics.items())
        levels = {name: level for name, level in told if level is not None}
        numbers = self._work[arm].numbers if arm in self._work else {}
        if not levels and not numbers:
            return None
        roof = self._roofline(levels, numbers)
        return arm_efficiency(self._signs(levels, numbers, roof), roof)

    def _roofline(self, levels: Numbers, numbers: Numbers) -> Roofline | None:
        flop, moved, seconds = numbers.get("flop"), numbers.get("bytes"), self._step_s(levels, numbers)
        if flop is None or moved is None or seconds is None:
            return None
        return roofline(
            Given(flop, "FLOP", "declared"),
            Given(moved, "B", "declared"),
            Given(seconds, "s", "measured"),
            Given(self.peak.value if self.peak else None, "FLOP/s", "listed"),
            Given(self.bandwidth.value if self.bandwidth else None, "B/s", "listed"),
            self._given.devices,
        )

    def _step_s(self, levels: Numbers, numbers: Numbers) -> float | None:
        """Return the time of a step that its share of a peak came of [s], so that picture and verdict agree."""
        devices = self._given.devices.value or 1.0
        of_peak = (("flop", "mfu", self.peak), ("bytes", "bandwidth_util", self.bandwidth))
        for work, metric, peak in of_peak:
            amount, share = numbers.get(work), levels.get(metric)
            if amount and share and peak:
                return amount / (share * devices * peak.value)
        return None

    def _signs(self, levels: Numbers, numbers: Numbers, roof: Roofline | None) -> dict[str, float]:
        """Return the signs by name. What is told of the case's own time goes before what is of the whole run."""
        watched = {name: value for name, value in numbers.items() if name in WATCHED}
        signs = {**self._alone, **watched, **{name: levels[name] for name in SHARES if name in levels}}
        if roof is not None:
            of_roof = {"intensity": roof.intensity.value, "ridge": roof.ridge.value}
            signs |= {name: value for name, value in of_roof.items() if value}
        return signs


WATCHED = (*(field.name for field in fields(Signs)), "device_share")
"""Numbers of a run's timings that are signs."""


def arm_efficiency(signs: dict[str, float], roof: Roofline | None = None) -> ArmEfficiency:
    """Return what holds an arm back by its signs: those of `Signs` by name, and `device_share`."""
    found = classify(_as_signs(**signs))
    return ArmEfficiency(
        bottleneck=found.kind.value,
        also=tuple(kind.value for kind in found.also),
        evidence=tuple(
            Evidence(one.name, one.value, one.text, one.kind and one.kind.value, one.is_decisive)
            for one in found.findings
        ),
        missing=tuple(note.text for note in found.missing),
        signs=signs,
        place=_place(roof),
    )


def _as_signs(*, device_share: float | None = None, **signs: float) -> Signs:
    """Return signs for the rules; `device_share` is the time by a device's clock over that by the host's.

    A device's clock may count the gaps between its kernels. So it can show that time is lost, never that none is.
    """
    if device_share is None or device_share > 1 - LOST_TIME:
        return Signs(**signs)
    return Signs(**signs, device_s=device_share, host_s=1.0)


def _place(roof: Roofline | None) -> Place | None:
    if roof is None or roof.intensity.value is None or roof.achieved.value is None:
        return None
    return Place(roof.intensity.value, roof.achieved.value, roof.share.value)


def _input_named(name: str, provenance: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the input that a formula had, head's before base's; None where it has no value."""
    documents = [(provenance or {}).get(arm) or {} for arm in reversed(ARMS)]
    inputs = (given for document in documents for given in document.get("inputs", ()))
    return next((given for given in inputs if given["name"] == name and given["value"] is not None), None)


# --- what DCGM told of the run --------------------------------------------------------------------------------


def _activity(told: Mapping[str, Any] | None) -> Iterable[Activity]:
    for device, document in (told or {}).items():
        for name, reading in (document.get("readings") or {}).items():
            if reading.get("value") is not None:
                yield Activity(device, name, reading["value"], reading["unit"])


def _mean_shares(activity: Sequence[Activity]) -> dict[str, float]:
    """Return the means over the devices of what is a sign."""
    of_name: dict[str, list[float]] = defaultdict(list)
    for one in activity:
        of_name[one.name].append(one.value)
    return {name: sum(of_name[name]) / len(of_name[name]) for name in ACTIVE if name in of_name}
