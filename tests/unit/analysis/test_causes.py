"""Which symptoms have one cause."""

from __future__ import annotations

from typing import Any

import pytest

from app.analysis.causes import cause_of, comes_back_to, is_of, narrowed, overlap
from app.domain.alerts import AlertState, Cause, CommitSpan, Kin, Symptom

RESIZE = Kin("resize", "latency_p50", "h100")
CROP = Kin("crop", "latency_p50", "h100")
MEMORY = Kin("crop", "peak_memory", "cpu")


def span(first: int, last: int, *, known: bool = True) -> CommitSpan:
    return CommitSpan(first, last, first if known else None, last if known else None)


def symptom(its_span: CommitSpan, *kin: Kin, **fields: Any) -> Symptom:
    return Symptom(**({"branch": "main", "span": its_span, "kin": frozenset(kin)} | fields))


def cause(its_span: CommitSpan, *kin: Kin, **fields: Any) -> Cause:
    known = {"alert_id": 1, "branch": "main", "span": its_span, "kin": set(kin), "pull": None}
    return Cause(**(known | {"change_ids": set(), "state": AlertState.NEW} | fields))


def test_one_commit_is_one_cause_whatever_it_moved() -> None:
    assert is_of(symptom(span(4, 5), MEMORY), cause(span(1, 5), RESIZE))


@pytest.mark.parametrize(("kin", "its_own"), [(CROP, True), (RESIZE, True), (MEMORY, False)])
def test_spans_that_overlap_are_one_cause_where_they_share_a_pattern(kin: Kin, its_own: bool) -> None:
    assert is_of(symptom(span(3, 9), kin), cause(span(1, 5), RESIZE)) is its_own


def test_spans_that_touch_have_no_commit_in_common() -> None:
    assert not overlap(span(1, 5), span(5, 9))
    assert not is_of(symptom(span(5, 9), RESIZE), cause(span(1, 5), RESIZE))


def test_where_places_are_not_known_only_the_same_commit_is_one_cause() -> None:
    assert not is_of(symptom(span(3, 9, known=False), RESIZE), cause(span(1, 5), RESIZE))
    assert is_of(symptom(span(3, 5, known=False), RESIZE), cause(span(1, 5), RESIZE))


def test_another_branch_has_another_cause() -> None:
    assert not is_of(symptom(span(4, 5), RESIZE, branch="next"), cause(span(4, 5), RESIZE))


def test_a_pull_request_is_one_cause_and_keeps_others_apart() -> None:
    assert is_of(symptom(span(7, 8), pull=(1, 12)), cause(span(1, 2), RESIZE, pull=(1, 12)))
    assert not is_of(symptom(span(1, 2), RESIZE, pull=(1, 13)), cause(span(1, 2), RESIZE, pull=(1, 12)))


def test_what_takes_the_place_of_a_change_is_of_its_cause() -> None:
    assert is_of(symptom(span(7, 8), corrects=3), cause(span(1, 2), change_ids={3}))


def test_the_strongest_rule_counts_whichever_cause_is_first() -> None:
    newer = cause(span(4, 9), RESIZE, alert_id=9)
    its_own = cause(span(1, 2), RESIZE, alert_id=3, change_ids={7})
    of_pull = cause(span(20, 21), alert_id=4, pull=(1, 12))
    assert cause_of(symptom(span(5, 8), RESIZE, corrects=7), [newer, its_own]) is its_own
    assert cause_of(symptom(span(5, 8), RESIZE, pull=(1, 12)), [newer, of_pull]) is of_pull


def test_what_is_earlier_does_not_come_back() -> None:
    assert not comes_back_to(symptom(span(1, 2), RESIZE), cause(span(7, 8), RESIZE))


def test_the_same_numbers_come_back_and_others_do_not() -> None:
    assert comes_back_to(symptom(span(7, 8), RESIZE), cause(span(1, 2), RESIZE, CROP))
    assert not comes_back_to(symptom(span(7, 8), MEMORY), cause(span(1, 2), RESIZE, CROP))
    assert not comes_back_to(symptom(span(7, 8)), cause(span(1, 2), RESIZE))


def test_several_spans_leave_the_commits_that_are_in_all() -> None:
    assert narrowed(span(1, 9), span(4, 12)) == span(4, 9)
    assert narrowed(span(4, 6), span(1, 9)) == span(4, 6)
    assert narrowed(span(1, 3), span(5, 9)) == span(1, 3)
    assert narrowed(span(1, 9, known=False), span(4, 6)) == span(1, 9, known=False)
