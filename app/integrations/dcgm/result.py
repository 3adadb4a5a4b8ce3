"""What came back: one reading for each metric with where it came from, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.fields import Field


@dataclass(frozen=True)
class Reading:
    """One number about the windows, or None with the `reason`.

    `samples` are those that it was made of and `covered_s` [s] the time that they tell of, `coverage` its share of the
    windows; `interval_s` [s] is the time from one sample to the next. `field` and `source` are the name and the labels
    in Prometheus. `shares` are the parts of a share, by name. `notes` are sentences that belong beside the number.
    """

    metric: str
    unit: str
    value: float | None = None
    coverage: float | None = None
    covered_s: float | None = None
    samples: int = 0
    interval_s: float | None = None
    field: str | None = None
    source: Mapping[str, str] | None = None
    shares: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()
    reason: str | None = None

    @classmethod
    def untold(cls, field: Field, reason: str) -> Reading:
        """Return a reading without a number."""
        return cls(field.metric, field.unit, reason=reason)


@dataclass(frozen=True)
class Moved:
    """The clocks: by how much the windows were moved to meet Prometheus' clock [s], to within `within_s` [s]."""

    by_s: float
    within_s: float


@dataclass(frozen=True)
class Activity:
    """What Prometheus tells of one device in the windows of a run; `reason` says why it tells nothing at all.

    `windows` are those that were asked for, by the clock that they came with; `moved` is None where one of the clocks
    is not known. `asked_early` says that the end of the last window was not scraped yet: asking later tells more.
    `unanswered` says that the server was away or refused to answer: asking later may tell.
    """

    device: Gpu
    server: str
    windows: tuple[tuple[datetime, datetime], ...]
    asked_at: datetime
    readings: Mapping[str, Reading] = field(default_factory=dict)
    moved: Moved | None = None
    asked_early: bool = False
    unanswered: bool = False
    notes: tuple[str, ...] = ()
    reason: str | None = None

    def document(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "device": self.device.document(),
            "server": self.server,
            "windows": [[start.isoformat(), end.isoformat()] for start, end in self.windows],
            "asked_at": self.asked_at.isoformat(),
            "asked_early": self.asked_early,
            "unanswered": self.unanswered,
            "moved": asdict(self.moved) if self.moved else None,
            "readings": {name: _reading_document(reading) for name, reading in self.readings.items()},
            "notes": list(self.notes),
            "reason": self.reason,
        }


def _reading_document(reading: Reading) -> dict[str, object]:
    document = {name: getattr(reading, name) for name in Reading.__dataclass_fields__ if name != "metric"}
    return {**document, "notes": list(reading.notes)}
