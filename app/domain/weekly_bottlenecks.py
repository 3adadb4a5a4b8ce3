"""What holds the cases back, by the newest numbers that they have in a week, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.efficiency import ArmEfficiency


@dataclass(frozen=True)
class Advice:
    """Something to try: `evidence` is the sentence that speaks for it, `holds_if` what must be so for it to help."""

    code: str
    text: str
    evidence: str
    holds_if: str


@dataclass(frozen=True)
class CaseBottleneck:
    """One case on one device class.

    Attributes:
        project: the project's name.
        benchmark: the case's benchmark.
        params: its parameters.
        device_class: where it was measured.
        commit: the commit that the numbers are of.
        at: when that commit was made.
        run: the run that they are from, as addresses name it.
        series: the metrics that were read, each with the id of its series.
        dtype: what it says that it computes in.
        found: the class, what speaks for it and what is not known.
        has_timings: whether signs of the run's timings were read, besides the stored numbers.
        advice: what to try; none without evidence.
    """

    project: str
    benchmark: str
    params: dict[str, Any]
    device_class: str
    commit: str
    at: datetime
    run: str
    series: dict[str, int]
    dtype: str | None
    found: ArmEfficiency
    has_timings: bool
    advice: tuple[Advice, ...]

    @property
    def roof(self) -> tuple[str, float] | None:
        """The metric of the roof that is nearer, and the share of it that is reached; None where neither is known."""
        known = [
            (self.found.signs[name], name) for name in ("mfu", "bandwidth_util") if name in self.found.signs
        ]
        return max(known)[::-1] if known else None
