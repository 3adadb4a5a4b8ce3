"""A whole weekly report: what it is of, and its sections."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.week import Week
from app.domain.weekly import Changes, Coverage, Efficiency
from app.domain.weekly_alerts import AlertsWeek
from app.domain.weekly_bottlenecks import CaseBottleneck
from app.domain.weekly_fleet import FleetWeek
from app.domain.weekly_hardware import HardwareWeek
from app.domain.weekly_scaling import ScalingCase


@dataclass(frozen=True)
class WeeklyReport:
    """One week of one project, or of everything: `project` is empty then."""

    project: str
    week: Week
    made_at: datetime
    coverage: Coverage
    changes: Changes
    efficiency: Efficiency
    bottlenecks: tuple[CaseBottleneck, ...]
    hardware: tuple[HardwareWeek, ...]
    scaling: tuple[ScalingCase, ...]
    fleet: FleetWeek
    alerts: AlertsWeek

    @property
    def is_over(self) -> bool:
        """Whether the week had ended when it was made."""
        return self.made_at >= self.week.end
