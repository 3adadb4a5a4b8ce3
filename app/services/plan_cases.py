"""Which cases a run has, and what is known of each before it is measured, from what both arms listed.

A case that both arms have is measured in pairs. What only one arm has, or what an arm cannot build, gets its
verdict here. Pure: messages in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.errors import PayloadError, Problem
from app.domain.verdicts import Verdict
from workers.protocol import ArmReport, CaseListing, MetricDecl, Prepared

IMPORT_FAILURE = "import raised"
"""How the harness begins the reason of a benchmark file that cannot be imported."""


@dataclass(frozen=True)
class PlannedCase:
    """A case with what is known of it before it is measured; `verdict` is None where pairs will tell."""

    listing: CaseListing
    metrics: tuple[MetricDecl, ...]
    verdict: Verdict | None
    reason: str = ""
    log_tail: str = ""
    flags: tuple[str, ...] = ()
    mismatched: frozenset[str] = frozenset()
    """Metrics that the arms report in different units or directions: they cannot be compared."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Metrics that cannot be had on the devices of the run, and why: a code and a sentence."""


def plan_cases(suite: str, message: Prepared) -> list[PlannedCase]:
    """Return the plan of every case that either arm has, in head's order and then base's."""
    base, head = _arms(message)
    if base is None:
        return [_new(listing) for listing in _by_key(head.cases).values()]
    if base.status != "ok" or head.status != "ok":
        return _plan_of_broken_arms(suite, base, head)
    base_run, head_run = _by_key(base.cases), _by_key(head.cases)
    base_own = _by_key(base.own_cases) or base_run
    planned = [
        _broken_in_head(listing, base_run.get(key), base)
        or _plan_case(listing, base_run.get(key), base_own.get(key))
        for key, listing in head_run.items()
    ]
    broken = {case.listing.benchmark for case in planned if case.verdict is Verdict.HEAD_FAILS}
    gone = [c for key, c in base_own.items() if key not in head_run and c.benchmark not in broken]
    return planned + [
        PlannedCase(listing, _metrics(listing, None), Verdict.REMOVED, "head has no such case")
        for listing in gone
    ]


def _arms(message: Prepared) -> tuple[ArmReport | None, ArmReport]:
    arms = {report.arm: report for report in message.arms}
    if "head" not in arms or len(arms) != len(message.arms):
        problem = Problem("arms", "bad_arms", "report head, and base at most once beside it")
        raise PayloadError([problem], code="bad_arms")
    return arms.get("base"), arms["head"]


def _broken_in_head(head: CaseListing, base_run: CaseListing | None, base: ArmReport) -> PlannedCase | None:
    """Return the verdict of a benchmark whose file cannot be imported in head's version but can in base's own."""
    both = [listing.failure or "" for listing in (head, base_run) if listing is not None]
    if len(both) < 2 or not all(failure.startswith(IMPORT_FAILURE) for failure in both):
        return None
    if all(own.benchmark.partition(".")[0] != head.benchmark for own in base.own_cases):
        return None
    reason, _, log = both[0].partition("\n")
    return PlannedCase(head, _metrics(head, None), Verdict.HEAD_FAILS, f"list_failed: {reason}", log)


def _plan_case(head: CaseListing, base: CaseListing | None, base_own: CaseListing | None) -> PlannedCase:
    if base is not None and base_own is None and base.failure:
        return _new(head)
    flags = ("benchmark_changed",) if base_own and base_own.file_digest != head.file_digest else ()
    if base is not None:
        return PlannedCase(head, _metrics(head, base), None, flags=flags, mismatched=_mismatched(head, base))
    if base_own is not None:
        reason = "head's benchmark file does not run on base"
        return PlannedCase(head, _metrics(head, None), Verdict.BASE_FAILS, reason, flags=flags)
    return _new(head)


def _new(listing: CaseListing) -> PlannedCase:
    return PlannedCase(listing, _metrics(listing, None), Verdict.NEW, "base has no such case")


def _plan_of_broken_arms(suite: str, base: ArmReport, head: ArmReport) -> list[PlannedCase]:
    """Return a verdict for each case of whichever arm could list them; one for the suite if none could."""
    if head.status == base.status == "list_failed" and base.own_cases:
        verdict, broken = Verdict.HEAD_FAILS, head
        reason = f"list_failed: {head.reason}"
    elif base.status != "ok" and head.status != "ok":
        verdict, broken = Verdict.NOT_MEASURED, head
        reason = f"both_fail: {head.status}: {head.reason}"
    elif head.status != "ok":
        verdict, broken = Verdict.HEAD_FAILS, head
        reason = f"{head.status}: {head.reason}"
    else:
        verdict, broken = Verdict.BASE_FAILS, base
        reason = f"{base.status}: {base.reason}"
    listed = head.cases or base.cases or base.own_cases or [CaseListing(benchmark=suite)]
    return [
        PlannedCase(case, _metrics(case, None), verdict, reason, broken.log_tail)
        for case in _by_key(listed).values()
    ]


def _by_key(listings: list[CaseListing]) -> dict[str, CaseListing]:
    return {case.case.key: case for case in listings}


def _metrics(head: CaseListing, base: CaseListing | None) -> tuple[MetricDecl, ...]:
    known = {m.metric: m for m in (base.metrics if base else [])} | {m.metric: m for m in head.metrics}
    return tuple(known.values())


def _mismatched(head: CaseListing, base: CaseListing) -> frozenset[str]:
    before = {m.metric: (m.unit, m.better) for m in base.metrics}
    return frozenset(
        m.metric for m in head.metrics if before.get(m.metric, (m.unit, m.better)) != (m.unit, m.better)
    )
