"""A check as one JSON object: what `ratchet check --json` prints and what scripts rely on.

The keys of the contract come first; those after them may grow, none ever leaves. Numbers that are not finite are
null, so that every JSON reader takes the document.
"""

from __future__ import annotations

import math
from typing import Any

from app.domain.results import CaseVerdict, CheckResult, DeviceState, SuiteResult
from app.domain.verdicts import EXIT_STATUS
from app.reports.efficiency_json import efficiency_document
from app.reports.text import subject_line
from app.reports.titles import check_title


def check_document(result: CheckResult, report: str | None, page: str | None = None) -> dict[str, Any]:
    """Return a check as plain JSON values.

    Args:
        result: the check, complete or not; while it runs, `conclusion` and `status` are null.
        report: where its HTML report is (a path or an address), if anywhere.
        page: the address of its page, where a service shows it.

    Returns:
        `status` is the exit status that `ratchet check` ends with; `base` and `head` are full commit ids, their
        subjects the first line of the message.
    """
    document = {
        "check": result.id,
        "conclusion": result.conclusion and str(result.conclusion),
        "status": None if result.conclusion is None else EXIT_STATUS[result.conclusion],
        "base": result.base.sha,
        "head": result.head.sha,
        "suites": [_suite(suite) for suite in result.suites],
        "report": report,
        "project": result.project,
        "state": result.state,
        "title": check_title(result),
        "reason": result.reason,
        "alpha": result.alpha,
        "minimum_effect": result.minimum_effect,
        "tolerance": result.tolerance,
        "reproduce": result.reproduce,
        "base_subject": subject_line(result.base.subject),
        "head_subject": subject_line(result.head.subject),
        "page": page,
        "notes": [{"flag": note.flag, "message": note.message} for note in result.notes],
    }
    return {key: _finite(value) for key, value in document.items()}


def _suite(suite: SuiteResult) -> dict[str, Any]:
    return {
        "name": suite.name,
        "device_class": suite.device_class,
        "environment": dict(suite.environment),
        "cases": [_case(case) for case in suite.cases],
        "state": suite.state,
        "reason": suite.reason,
        "worker": suite.worker,
        "software_changes": [
            {"name": name, "base": base, "head": head} for name, base, head in suite.software_changes
        ],
        "device_s": suite.device_s,
        "log_tail": suite.log_tail,
        "efficiency": None if suite.efficiency is None else efficiency_document(suite.efficiency),
        "devices": [_device(state) for state in suite.device_states],
    }


def _device(state: DeviceState) -> dict[str, Any]:
    """Return how a device was; readings are lowest, middle and highest of each arm."""
    return {
        "device": state.device,
        "readings": [
            {
                "name": reading.name,
                "unit": reading.unit,
                "base": None if reading.base is None else list(reading.base),
                "head": None if reading.head is None else list(reading.head),
            }
            for reading in state.readings
        ],
        "throttled": [
            {"reason": reason, "base": base, "head": head} for reason, base, head in state.throttled
        ],
        "unavailable": list(state.unavailable),
    }


def _case(case: CaseVerdict) -> dict[str, Any]:
    return {
        "benchmark": case.benchmark,
        "params": dict(case.params),
        "metric": case.metric,
        "unit": case.unit,
        "better": case.better,
        "gating": case.gating,
        "verdict": case.verdict and str(case.verdict),
        "change": case.change,
        "worse": case.worse,
        "ci_low": case.ci_low,
        "ci_high": case.ci_high,
        "ci_level": case.ci_level,
        "n_pairs": case.n_pairs,
        "n_void": case.n_void,
        "could_hide": case.could_hide,
        "grade": case.grade,
        "flags": list(case.flags),
        "exploratory": case.exploratory,
        "kind": case.kind,
        "reason": case.reason,
        "base_median": case.base_median,
        "head_median": case.head_median,
        "attribution": list(case.attribution),
        "log_tail": case.log_tail,
        "base_geomean": case.base_geomean,
        "head_geomean": case.head_geomean,
        "bound_pass": case.bound_pass,
        "provenance": case.provenance,
    }


def _finite(value: Any) -> Any:
    """Return a JSON value with every NaN and infinity in it replaced by None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
