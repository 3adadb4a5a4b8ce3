"""The weekly report as plain values, for programs: every number that the page shows, unrounded, in base units."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from app.domain.week import Week
from app.domain.weekly_report import WeeklyReport
from app.reports.weekly.headline import headline, second_sentence


def weekly_document(report: WeeklyReport) -> dict[str, Any]:
    """Return the report; `project` is null where it is of all that the reader may see."""
    return {
        "project": report.project or None,
        "week": str(report.week),
        "start": report.week.start.isoformat(),
        "end": report.week.end.isoformat(),
        "is_over": report.is_over,
        "made_at": report.made_at.isoformat(),
        "headline": headline(report),
        "first": second_sentence(report),
        **{
            field.name: plain(getattr(report, field.name))
            for field in fields(report)
            if field.name not in ("project", "week", "made_at")
        },
    }


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Week):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        return [plain(each) for each in value]
    return value
