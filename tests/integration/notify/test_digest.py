"""Digests, and nights in which nothing is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from app.domain.notifications import Pace, Wishes
from app.store.tables import Notifier
from tests.factories.histories import stepped
from tests.factories.receivers import text_of
from tests.integration.alerts.conftest import Team
from tests.integration.notify.conftest import Crowd

pytestmark = pytest.mark.postgres

DAILY = Wishes(pace=Pace.DAILY, hour=9)


def clock_at(hours: int) -> str:
    """Return the time of day, UTC, so many hours from now."""
    return f"{datetime.now(UTC) + timedelta(hours=hours):%H}:00"


QUIET = {"quiet_from": clock_at(-2), "quiet_until": clock_at(3)}


def come(crowd: Crowd) -> None:
    """Have it be time for what is due."""
    with crowd.service.database.session() as session:
        session.execute(text("update notifier set due_at = clock_timestamp() where due_at is not null"))
    crowd.sweep()
    crowd.settle(hurry=False)
    crowd.settle()


def test_digest_tells_what_is_new_and_settled_and_still_open_with_age_and_owner(crowd: Crowd) -> None:
    crowd.add("mail", "email", DAILY)
    (kept,) = crowd.alert("regressed: resize", owner="ada")
    (fixed,) = crowd.alert("regressed: crop")
    (gone,) = crowd.alert("regressed: decode")
    crowd.move(gone, "noise", comment="the fan")
    crowd.settle()
    assert crowd.post.mails == [], "it is not told at once"
    come(crowd)
    first = text_of(crowd.post.mails[0], "plain")
    assert crowd.post.mails[0]["Subject"] == "acme/vision: 2 new alerts and 1 settled"
    assert first.index("New:") < first.index("Settled:") < first.index("noise: Decode")
    assert "by ada: the fan" in first
    crowd.move(fixed, "fixed")
    crowd.settle()
    with crowd.service.database.session() as session:
        session.execute(text("update alert set opened_at = opened_at - interval '3 days 1 hour'"))
    come(crowd)
    second = text_of(crowd.post.mails[1], "plain")
    assert crowd.post.mails[1]["Subject"] == "acme/vision: 1 settled alert and 1 still open"
    assert "fixed: Crop" in second
    assert "still open: Resize" in second
    assert "open for 3 days" in second
    assert "for ada" in second
    assert "Since " in second
    assert kept


def test_digest_with_nothing_to_say_does_not_come_unless_it_is_wanted(crowd: Crowd) -> None:
    crowd.add("mail", "email", DAILY)
    crowd.add("hook", "webhook", Wishes(pace=Pace.WEEKLY, empty_digests=True))
    come(crowd)
    assert crowd.post.mails == []
    (post,) = crowd.hook.posts
    assert (post.json["type"], post.json["data"]["counts"]) == ("digest", {})
    crowd.alert("regressed: resize")
    come(crowd)
    come(crowd)
    assert len(crowd.post.mails) == 1, "what is still open is no news by itself"
    with crowd.service.database.session() as session:
        for row in session.scalars(select(Notifier)):
            assert row.due_at is not None
            assert row.due_at > datetime.now(UTC)


def test_what_happens_in_quiet_hours_is_told_at_their_end_in_one_message(crowd: Crowd) -> None:
    crowd.add(wishes=Wishes(**QUIET))
    crowd.alert()
    (gone,) = crowd.alert()
    crowd.settle()
    crowd.alert()
    crowd.move(gone, "noise")
    crowd.settle()
    assert crowd.hook.posts == []
    due = crowd.facts().due_at
    assert due is not None
    assert f"{due:%H:%M}" == QUIET["quiet_until"]
    with crowd.service.database.session() as session:
        session.execute(
            text('update notifier set wishes = wishes || \'{"quiet_from": "", "quiet_until": ""}\'')
        )
    come(crowd)
    (post,) = crowd.hook.posts
    assert post.json["data"]["counts"] == {"new": 2}


def test_large_change_breaks_through_quiet_hours_and_the_rest_waits(team: Team, crowd: Crowd) -> None:
    crowd.add(wishes=Wishes(**QUIET, breaks_through=0.3))
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    team.grow("decode", stepped(60, 40, 0.5, seed=3))
    team.sweep()
    crowd.settle()
    (post,) = crowd.hook.posts
    (told,) = post.json["data"]["alerts"]
    assert told["sentence"].startswith("decode")
    assert crowd.facts().due_at is not None
