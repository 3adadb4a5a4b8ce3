"""How well a suite uses its devices, as JSON values: part of a check's document (docs/api-checks.md)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.domain.efficiency import ArmEfficiency, CaseEfficiency, SuiteEfficiency


def efficiency_document(found: SuiteEfficiency) -> dict[str, Any]:
    """Return the efficiency of a suite as plain JSON values."""
    return {
        "device": found.device,
        "peaks": [asdict(peak) for peak in found.peaks],
        "bandwidth": found.bandwidth and asdict(found.bandwidth),
        "hint": found.hint or None,
        "activity": [asdict(one) for one in found.activity],
        "cases": [_case(case) for case in found.cases],
    }


def _case(case: CaseEfficiency) -> dict[str, Any]:
    return {
        "benchmark": case.benchmark,
        "params": dict(case.params),
        "dtype": case.dtype,
        "changed": case.is_changed,
        "base": case.base and _arm(case.base),
        "head": case.head and _arm(case.head),
    }


def _arm(arm: ArmEfficiency) -> dict[str, Any]:
    return {
        "bottleneck": arm.bottleneck,
        "also": list(arm.also),
        "evidence": [asdict(one) for one in arm.evidence],
        "missing": list(arm.missing),
        "signs": dict(arm.signs),
        "roofline": arm.place and asdict(arm.place),
    }
