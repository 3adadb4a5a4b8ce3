"""Digests of settings: equal exactly when the values are, whatever the layout, key order and comments."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from hashlib import sha256
from typing import Any

from app.settings.values import Settings, SuiteSettings

_NOT_MEASURED = ("devices", "on", "paths")
"""Keys of a suite that decide when and where it is measured, but not what, nor how it is judged."""


def settings_digest(settings: Settings) -> str:
    """Return the SHA-256 of all values, 64 hexadecimal digits."""
    return _digest(asdict(settings))


def suite_digest(settings: Settings, suite: SuiteSettings) -> str:
    """Return the SHA-256 of what influences how `suite` is measured and judged, 64 hexadecimal digits.

    Two jobs on one pair of commits and one device class with equal digests are the same work. So this leaves
    out when and where suites start, other suites, who owns what, what it costs, and `strict`, which concerns
    the check as a whole. All metrics and budgets count: which ones a suite reports is known once it has run.
    """
    return _digest(
        {
            "suite": {key: value for key, value in asdict(suite).items() if key not in _NOT_MEASURED},
            "gate": {key: value for key, value in asdict(settings.gate).items() if key != "strict"},
            "metrics": sorted(map(_canonical, map(asdict, settings.metrics))),
            "budgets": sorted(map(_canonical, map(asdict, settings.budgets))),
        }
    )


def _digest(values: dict[str, Any]) -> str:
    return sha256(_canonical(values).encode()).hexdigest()


def _canonical(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_date_text)


def _date_text(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"settings hold no {type(value).__name__}")
