"""How noisy a series is and why, and the smallest effect that it can show: by its pairs, or else by its history."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from sqlalchemy.orm import Session

from app.analysis.grades import grade_of_device, smallest_effect
from app.analysis.history_noise import sd_between_neighbours, smallest_step
from app.analysis.judge import Grade
from app.analysis.sequential import MIN_PAIRS, MINIMUM_EFFECT
from app.domain.metrics import metric
from app.store.repositories import benchmarks
from app.store.tables import SelfCheck


@dataclass(frozen=True)
class Devices:
    """What the last A/A of all devices of a class says of them, the worst of it; None where none had one.

    Whether they have other work, too, and whether their clocks are locked.
    """

    is_shared: bool | None = None
    has_locked_clocks: bool | None = None


@dataclass(frozen=True)
class Noise:
    """How well a series can be measured.

    `told_by` says what `sd` is of: the effects of pairs in its last `n` runs (ln units), or neighbouring ones of the
    newest `n` points of its history. One that is `exact` repeats, as far as is known; of one that is `unknown` there is
    too little to tell.
    """

    told_by: Literal["pairs", "history", "exact", "unknown"]
    n: int
    sd: float = 0.0
    grade: Grade | None = None
    devices: Devices = Devices()
    smallest: float | None = None
    """The smallest effect (head/base − 1) that is found: of pairs beyond the minimum effect, of a history by itself.

    None where that is larger than any of the list, or unknown.
    """


@dataclass(frozen=True)
class Known:
    """What is known of the noise of several series, read once for all of them."""

    sds: Mapping[int, Sequence[float]]
    devices: Mapping[str, Devices]

    def of(self, series_id: int, device_class: str, metric_name: str, values: Sequence[float]) -> Noise:
        """Return the noise of one of the series, whose newest values are these."""
        devices = self.devices.get(device_class, Devices())
        if sds := self.sds.get(series_id):
            sd = median(sds)
            return _noise("pairs", sd, len(sds), devices, smallest_effect(sd))
        entry = metric(metric_name)
        if entry is not None and entry.kind == "exact":
            return Noise("exact", len(values))
        sd_of_points = sd_between_neighbours(values)
        if sd_of_points is None:
            return Noise("unknown", len(values))
        if sd_of_points == 0:
            return Noise("exact", len(values))
        smallest = max(smallest_step(sd_of_points), MINIMUM_EFFECT)
        return _noise("history", sd_of_points, len(values), devices, smallest)


def _noise(
    told_by: Literal["pairs", "history"], sd: float, n: int, devices: Devices, smallest: float | None
) -> Noise:
    grade = grade_of_device(
        sd, exclusive=not devices.is_shared, clocks_locked=bool(devices.has_locked_clocks)
    )
    return Noise(told_by, n, sd, grade, devices, smallest)


def known_noise(session: Session, series_ids: Collection[int], device_classes: Collection[str]) -> Known:
    """Read what is known of the noise of these series and the devices of these classes, in two statements."""
    by_class: dict[str, list[SelfCheck]] = {}
    for device_class, check in benchmarks.self_checks(session, device_classes):
        by_class.setdefault(device_class, []).append(check)
    return Known(
        benchmarks.pair_sds(session, series_ids, fewest_pairs=MIN_PAIRS),
        {
            device_class: Devices(
                any(not check.is_exclusive for check in checks), all(check.clocks_locked for check in checks)
            )
            for device_class, checks in by_class.items()
        },
    )
