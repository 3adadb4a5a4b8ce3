"""Over the series of one commit: what is more than chance shows among so many is told, and the rest waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from app.domain.changes import WITHIN_CHANCE
from app.services.weigh_change import is_beyond_chance
from app.store.repositories import changes, projects, series
from app.store.repositories.series import SeriesKey
from app.store.tables import ChangePoint
from tests.factories.histories import Poster, deliver, noisy, posted, sha, stepped, sweep_suspicions
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres


@dataclass
class Found:
    """A change that an examination has just found."""

    commit_id: int
    previous_commit_id: int
    p_value: float | None


class Family:
    """A project's series, with results at commits, and changes that are stored of them."""

    def __init__(self, session: Session, n: int) -> None:
        self.session = session
        self.project = projects.project(session, "acme/family").id
        cases = projects.case_ids(session, self.project, [(f"b{i}", "{}") for i in range(n)])
        keys = {SeriesKey(case, "latency_p50", "cpu"): ("s", "lower") for case in cases}
        self.series = sorted(row.id for row in series.ensure(session, self.project, keys).values())

    def commit(self, number: int, of_series: Sequence[int], *, branch: str = "main") -> int:
        """Give these series a result of a commit, which nobody has examined; return the commit."""
        its_id = projects.commit(self.session, self.project, sha(number)).id
        rows = [replace(posted(series_id, its_id, 1.0), branch=branch) for series_id in of_series]
        series.add_results(self.session, rows)
        return its_id

    def change(self, of_series: int, commit: int, p_value: float, state: str = "suspected") -> None:
        """Store a change of a series that begins with the commit."""
        result_id = series.points(self.session, of_series, limit=1)[0][0].id
        self.session.add(
            ChangePoint(
                project_id=self.project,
                series_id=of_series,
                branch="main",
                commit_id=commit,
                previous_commit_id=commit,
                end_commit_id=commit,
                result_id=result_id,
                index=1,
                end_index=1,
                kind="step",
                state=state,
                before=1.0,
                after=2.0,
                p_value=p_value,
            )
        )
        self.session.flush()

    def tells(self, commit: int, p_value: float | None, previous: int | None = None) -> bool:
        """Tell whether a change of the first series, which is not stored yet, is beyond chance."""
        found = Found(commit, commit if previous is None else previous, p_value)
        return is_beyond_chance(self.session, self.project, self.series[0], "main", found)


@pytest.fixture
def family(session: Session) -> Family:
    return Family(session, 100)


def test_change_counts_against_all_series_that_the_commit_extends_examined_or_not(family: Family):
    few, many = family.commit(0, family.series[:10]), family.commit(1, family.series)
    assert family.tells(few, 0.005)
    assert not family.tells(few, 0.0051)
    assert family.tells(many, 0.0005)
    assert not family.tells(many, 0.00051)


def test_changes_that_many_series_share_are_told_together(family: Family):
    commit = family.commit(0, family.series)
    for other in family.series[1:5]:
        family.change(other, commit, 0.001)
    assert not family.tells(commit, 0.003)
    family.change(family.series[5], commit, 0.001, "confirmed")
    assert family.tells(commit, 0.003)


def test_changes_of_other_commits_branches_and_of_the_series_itself_are_no_company(family: Family):
    commit, other = family.commit(0, family.series), family.commit(1, family.series)
    for row in family.series[1:6]:
        family.change(row, other, 0.001)
    for _ in range(5):
        family.change(family.series[0], commit, 0.001)
    family.commit(2, family.series, branch="feature")
    assert not family.tells(commit, 0.003)


def test_results_of_the_same_commit_on_another_branch_are_no_occasions_for_chance(family: Family):
    commit = family.commit(0, family.series[:5])
    family.commit(0, family.series, branch="feature")
    assert family.tells(commit, 0.01)


def test_commit_is_taken_to_have_as_many_series_as_the_one_before_until_all_are_there(family: Family):
    before, first_post = family.commit(0, family.series), family.commit(1, family.series[:5])
    assert family.tells(first_post, 0.01)
    assert not family.tells(first_post, 0.01, previous=before)
    assert family.tells(first_post, 0.0005, previous=before)


def test_change_of_an_exact_metric_has_no_chance_in_it(family: Family):
    assert family.tells(family.commit(0, family.series), None)


# --- as results are posted -----------------------------------------------------------------------------------


def test_old_suspicion_within_chance_is_looked_at_less_often_than_a_young_one(family: Family):
    """Both were looked at 20 minutes ago; the one then was an hour old, the other was new."""
    commit = family.commit(0, family.series)
    for row in family.series[:2]:
        family.change(row, commit, 0.01)
    old, young = family.session.scalars(select(ChangePoint).order_by(ChangePoint.id))
    now = datetime.now(UTC)
    family.session.execute(text("alter table change_point disable trigger change_point_guard"))
    for change, age in ((old, timedelta(minutes=80)), (young, timedelta(minutes=20))):
        change.reason, change.first_seen_at = WITHIN_CHANCE, now - age
        change.examined_at = now - timedelta(minutes=20)
    family.session.flush()
    family.session.execute(text("alter table change_point enable trigger change_point_guard"))
    assert changes.unasked(family.session, timedelta(minutes=1), 10) == [young.id]


def test_suspicions_that_always_fail_do_not_keep_others_out_of_a_sweep(family: Family):
    """Of 30 suspicions nobody ever moves one; three at a time, all of them are tried in the end."""
    commit = family.commit(0, family.series)
    for row in family.series[:30]:
        family.change(row, commit, 0.01)
    tried: set[int] = set()
    for _ in range(200):
        tried.update(changes.forgotten(family.session, timedelta(hours=-1), 3))
    assert len(tried) == 30


@pytest.fixture
def among_many(poster: Poster, monkeypatch: pytest.MonkeyPatch) -> Poster:
    """A poster whose one series is one of a million."""
    monkeypatch.setattr(changes, "family", lambda *_, **__: ([], 10**300))
    return poster


def test_suspicion_within_chance_is_told_as_such_and_nobody_is_asked_to_measure(among_many: Poster):
    among_many.tell_all(stepped(34, at=30, by=0.03))
    (change,) = among_many.changes()
    assert (change["state"], change["reason"], change["p_value"] < 0.05) == ("suspected", WITHIN_CHANCE, True)
    assert among_many.wanted() == []


def wait(poster: Poster) -> None:
    """Let so much time pass that the sweep looks again at suspicions that are not beyond chance."""
    with poster.service.database.session() as session:
        session.execute(
            update(ChangePoint).values(examined_at=ChangePoint.first_seen_at - timedelta(hours=1))
        )
    sweep_suspicions(poster.service)


def test_suspicion_that_others_come_to_share_is_wanted_to_be_measured_and_stays_so(
    among_many: Poster, monkeypatch: pytest.MonkeyPatch
):
    among_many.tell_all(stepped(34, at=30, by=0.03))
    wait(among_many)
    assert among_many.wanted() == []
    monkeypatch.setattr(changes, "family", lambda *_, **__: ([1e-12] * 99, 100))
    wait(among_many)
    assert {wanted["commit"] for wanted in among_many.wanted()} == {sha(29), sha(30)}
    assert [change["reason"] for change in among_many.changes()] == [None]
    monkeypatch.setattr(changes, "family", lambda *_, **__: ([], 10**300))
    among_many.tell(stepped(35, at=30, by=0.03)[34], 34)
    assert among_many.wanted() != []


def test_change_within_chance_is_not_confirmed_by_points_until_it_is_more(
    among_many: Poster, monkeypatch: pytest.MonkeyPatch
):
    values = stepped(38, at=30, by=0.05)
    among_many.tell_all(values[:37])
    (change,) = among_many.changes()
    assert (change["state"], change["reason"]) == ("suspected", WITHIN_CHANCE)
    monkeypatch.undo()
    among_many.tell(values[37], 37)
    (confirmed,) = among_many.changes()
    assert (confirmed["id"], confirmed["state"]) == (change["id"], "confirmed")
    assert confirmed["reason"] == "confirmed by later points"


def test_change_that_all_series_of_a_commit_have_is_confirmed_in_each_and_noise_in_none(poster: Poster):
    names = [f"resize_{i}" for i in range(12)]
    lines = {
        name: stepped(37, at=30, by=0.05, seed=i) if i < 6 else noisy(37, seed=i)
        for i, name in enumerate(names)
    }
    for commit in range(37):
        results = [posted_result(name, values=[line[commit]]) for name, line in lines.items()]
        document = posted_document(*results, commit=sha(commit))
        assert post_results(poster.client, poster.token, document, key=f"{commit}").status_code == 201
        deliver(poster.service)
    found = poster.get("changes", project="acme/vision")["changes"]
    assert {(c["series"]["benchmark"], c["state"]) for c in found} == {
        (name, "confirmed") for name in names[:6]
    }
