"""A service that was restored from a backup tells nobody until it goes on, and then nothing that was told before."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from app.domain.errors import ConflictError
from app.domain.notifications import Pace, Wishes
from app.services.backups.resume import resume
from app.services.notify.manage_notifiers import send_test
from app.services.notify.plan_news import plan_news
from app.services.notify.send_message import take_turn
from tests.integration.notify.conftest import ADMIN, PROJECT, Crowd

pytestmark = pytest.mark.postgres

RESTORED = (
    "insert into restoration (backup, backup_at, version, revision) "
    "values ('b', clock_timestamp() - interval '1 day', '1', '1')"
)


def restore(crowd: Crowd) -> None:
    """Have the database be one that was just restored."""
    with crowd.service.database.session() as session:
        session.execute(text(RESTORED))


def go_on(crowd: Crowd) -> None:
    with crowd.service.database.session() as session:
        resume(session, set(), None)


def test_restored_service_says_nothing_until_it_goes_on_and_not_what_waited(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    assert crowd.facts().waiting == 1
    restore(crowd)
    crowd.settle(sweep=True)
    with crowd.service.database.session() as session:
        assert take_turn(session, crowd.service.settings, 1) is None
        with pytest.raises(ConflictError, match="ratchet resume"):
            send_test(session, crowd.service.settings, ADMIN, PROJECT, "ops")
    assert crowd.hook.posts == []
    go_on(crowd)
    crowd.settle(sweep=True)
    assert crowd.hook.posts == []
    (delivery,) = crowd.facts().deliveries
    assert (delivery.state, delivery.error[:22]) == ("failed", "restored from a backup")
    crowd.alert()
    crowd.settle(sweep=True)
    assert len(crowd.hook.posts) == 1


def test_what_is_news_in_the_backup_is_neither_planned_nor_composed_until_it_goes_on(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    restore(crowd)
    with crowd.service.database.session() as session:
        assert plan_news(session, 1) == 0
    crowd.settle(sweep=True)
    assert crowd.facts().deliveries == ()
    go_on(crowd)
    crowd.settle(sweep=True)
    assert len(crowd.hook.posts) == 1


def test_planned_news_of_the_backup_is_not_composed_while_it_observes(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    crowd.step()
    restore(crowd)
    crowd.settle()
    assert crowd.facts().deliveries == ()


def test_digest_that_was_due_in_the_backup_begins_anew_when_it_goes_on(crowd: Crowd) -> None:
    crowd.add(wishes=Wishes(pace=Pace.DAILY, empty_digests=True))
    with crowd.service.database.session() as session:
        session.execute(
            text("update notifier set due_at = now() - interval '3 h', digest_from = now() - interval '27 h'")
        )
    restore(crowd)
    crowd.settle(sweep=True)
    began = datetime.now(UTC)
    go_on(crowd)
    crowd.settle(hurry=False, sweep=True)
    assert crowd.facts().deliveries == ()
    due_at = crowd.facts().due_at
    assert due_at is not None
    assert due_at > began
    with crowd.service.database.session() as session:
        assert session.execute(text("select digest_from from notifier")).scalar_one() >= began
