"""A check's JSON document back into domain values: what a client of the service draws its table from.

What no table shows, efficiency and the state of devices, stays in the document.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.domain.results import CaseVerdict, CheckResult, CommitRef, Note, SuiteResult
from app.domain.verdicts import Conclusion, Verdict

_CASE_FIELDS = {field.name for field in fields(CaseVerdict)}
_SUITE_FIELDS = {field.name for field in fields(SuiteResult)}


def result_of_document(document: dict[str, Any]) -> CheckResult:
    """Return the check of a document of `check_document`; what the document leaves out is empty."""
    conclusion = document["conclusion"]
    return CheckResult(
        id=document["check"],
        project=document["project"],
        base=CommitRef(document["base"], document.get("base_subject", "")),
        head=CommitRef(document["head"], document.get("head_subject", "")),
        state=document["state"],
        suites=tuple(_suite(suite) for suite in document["suites"]),
        conclusion=Conclusion(conclusion) if conclusion else None,
        reason=document["reason"],
        title=document["title"],
        alpha=document["alpha"],
        minimum_effect=document["minimum_effect"],
        tolerance=document["tolerance"],
        reproduce=document["reproduce"],
        notes=tuple(Note(note["flag"], note["message"]) for note in document.get("notes", ())),
    )


def _suite(document: dict[str, Any]) -> SuiteResult:
    known = {name: value for name, value in document.items() if name in _SUITE_FIELDS}
    known["cases"] = tuple(_case(case) for case in document["cases"])
    changes = document["software_changes"]
    known.pop("efficiency", None)
    known["software_changes"] = tuple((c["name"], c["base"], c["head"]) for c in changes)
    return SuiteResult(**known)


def _case(document: dict[str, Any]) -> CaseVerdict:
    known = {name: value for name, value in document.items() if name in _CASE_FIELDS}
    verdict = document["verdict"]
    known["verdict"] = Verdict(verdict) if verdict else None
    for name in ("flags", "attribution"):
        known[name] = tuple(document[name])
    return CaseVerdict(**known)
