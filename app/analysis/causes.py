"""Which symptoms have one cause: those of the same pull request, and those whose commits can be the same.

A benchmark that is measured at every commit and one that is measured weekly tell the same change with spans of
different length. Two spans that overlap are one cause where they end with the same commit, or where the symptoms share
a pattern: a benchmark, or a metric on one device class. All else stays apart: to join what is not one hides the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.alerts import Cause, CommitSpan, Kin, Symptom


def cause_of(symptom: Symptom, causes: Iterable[Cause]) -> Cause | None:
    """Return the first of the causes that is the symptom's; None where it has none of them."""
    return next((cause for cause in causes if is_of(symptom, cause)), None)


def is_of(symptom: Symptom, cause: Cause) -> bool:
    """Say whether a symptom has this cause."""
    if symptom.corrects in cause.change_ids:
        return True
    if symptom.pull is not None and cause.pull is not None:
        return symptom.pull == cause.pull
    if symptom.branch != cause.branch:
        return False
    if symptom.span.commit == cause.span.commit:
        return True
    return overlap(symptom.span, cause.span) and is_akin(symptom.kin, cause.kin)


def comes_back_to(symptom: Symptom, cause: Cause) -> bool:
    """Say whether a symptom is what a closed cause was, once more: the same numbers on the same branch."""
    return symptom.branch == cause.branch and bool(symptom.kin) and symptom.kin <= cause.kin


def overlap(one: CommitSpan, other: CommitSpan) -> bool:
    """Say whether a commit is in both spans; False where that is not known."""
    places = (one.first_place, one.last_place, other.first_place, other.last_place)
    if None in places:
        return False
    first, last, its_first, its_last = (place for place in places if place is not None)
    return max(first, its_first) < min(last, its_last)


def is_akin(some: Iterable[Kin], others: Iterable[Kin]) -> bool:
    """Say whether two symptoms share a benchmark, or a metric on one device class."""
    known = list(others)
    benchmarks = {kin.benchmark for kin in known}
    patterns = {(kin.metric, kin.device_class) for kin in known}
    return any(kin.benchmark in benchmarks or (kin.metric, kin.device_class) in patterns for kin in some)


def narrowed(one: CommitSpan, other: CommitSpan) -> CommitSpan:
    """Return the commits that are in both spans; the first span where that is not known, or nothing is."""
    if not overlap(one, other):
        return one
    assert one.first_place is not None
    assert one.last_place is not None
    assert other.first_place is not None
    assert other.last_place is not None
    start = one if one.first_place >= other.first_place else other
    end = one if one.last_place <= other.last_place else other
    return CommitSpan(start.previous, end.commit, start.first_place, end.last_place)
