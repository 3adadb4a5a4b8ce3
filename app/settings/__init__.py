"""A repository's `ratchet.toml`: its schema, its defaults and its refusals.

Text in, values out: nothing here reads a file. `decode_settings` takes bytes, `read_settings` text.
"""

from app.settings.digests import settings_digest, suite_digest
from app.settings.matching import budget_for, matching_classes
from app.settings.parsing import decode_settings
from app.settings.reader import read_costs, read_settings
from app.settings.values import (
    BudgetSettings,
    CostSettings,
    GateSettings,
    MetricSettings,
    OwnerSettings,
    PowerSettings,
    PriceSettings,
    ProjectSettings,
    ScheduleSettings,
    Settings,
    SuiteSettings,
    Thresholds,
    TrafficSettings,
)

__all__ = [
    "BudgetSettings",
    "CostSettings",
    "GateSettings",
    "MetricSettings",
    "OwnerSettings",
    "PowerSettings",
    "PriceSettings",
    "ProjectSettings",
    "ScheduleSettings",
    "Settings",
    "SuiteSettings",
    "Thresholds",
    "TrafficSettings",
    "budget_for",
    "decode_settings",
    "matching_classes",
    "read_costs",
    "read_settings",
    "settings_digest",
    "suite_digest",
]
