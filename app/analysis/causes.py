"""Which symptoms have one cause: those of the same pull request, and those whose commits can be the same.

A benchmark that is measured at every commit and one that is measured weekly tell the same change with spans of
different length. Two spans that overlap are one cause where they end with the same commit, or where the symptoms share
a pattern: a benchmark, or a metric on one device class. All else stays apart: to join what is not one hides the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.alerts import Cause, CommitSpan, Kin, Symptom


def cause_of(symptom: Symptom, causes: Iterable[Cause]) -> Cause | None:
    """Return the cause that the symptom has by the strongest rule, of several the first; None where it has none."""
    known = list(causes)
    return next((cause for rule in _RULES for cause in known if rule(symptom, cause)), None)


def is_of(symptom: Symptom, cause: Cause) -> bool:
    """Say whether a symptom has this cause."""
    return cause_of(symptom, [cause]) is not None


def _takes_its_place(symptom: Symptom, cause: Cause) -> bool:
    return symptom.corrects is not None and symptom.corrects in cause.change_ids


def _is_of_its_pull(symptom: Symptom, cause: Cause) -> bool:
    return symptom.pull is not None and symptom.pull == cause.pull


def _can_be_one(symptom: Symptom, cause: Cause) -> bool:
    """Two pull requests are two causes, and so are two branches."""
    are_two = None not in (symptom.pull, cause.pull) and symptom.pull != cause.pull
    return symptom.branch == cause.branch and not are_two


def _begins_where_it_does(symptom: Symptom, cause: Cause) -> bool:
    return _can_be_one(symptom, cause) and symptom.span.commit == cause.span.commit


def _overlaps_it(symptom: Symptom, cause: Cause) -> bool:
    can_be = _can_be_one(symptom, cause) and overlap(symptom.span, cause.span)
    return can_be and is_akin(symptom.kin, cause.kin)


_RULES = (_takes_its_place, _is_of_its_pull, _begins_where_it_does, _overlaps_it)
"""The strongest first."""


def comes_back_to(symptom: Symptom, cause: Cause) -> bool:
    """Say whether a symptom is what a closed cause was, once more: the same series on the same branch, later."""
    last, its_last = symptom.span.last_place, cause.span.last_place
    is_earlier = last is not None and its_last is not None and last <= its_last
    its_own = symptom.branch == cause.branch and bool(symptom.kin) and symptom.kin <= cause.kin
    return its_own and not is_earlier


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
