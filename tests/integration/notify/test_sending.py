"""A message until it has arrived: tried again with patience, sent once whatever dies, given up where people see it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc

import pytest
from sqlalchemy import select, text

from app.domain.errors import DataError
from app.domain.notifications import Wishes
from app.services.notify import send_message
from app.services.notify.announce_report import announce_report
from app.services.notify.manage_notifiers import change_notifier, pause_notifier, resume_notifier, send_test
from app.services.notify.send_message import MOST_TRIES, backoff_s, deliver, end_turn, take_turn
from app.store.repositories import projects
from app.store.tables import AuditLog, Notification, Notifier
from app.tasks import notifying
from tests.factories.receivers import Mood
from tests.integration.notify.conftest import ADMIN, PROJECT, Crowd

pytestmark = pytest.mark.postgres


KILLED = """
import os, signal
from app.tasks import notifying
from app.wiring import Service

notifying.end_turn = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
notifying.send(Service(), 1)
"""
"""Sends what waits for the first notifier, and is killed before it can note so."""


def keys(crowd: Crowd) -> list[str]:
    return [post.headers["idempotency-key"] for post in crowd.hook.posts]


def test_receiver_that_is_down_is_tried_again_under_the_same_key(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500), Mood(cut=True), Mood(503)]
    crowd.alert()
    crowd.settle()
    assert len(crowd.hook.posts) == 4
    assert len(set(keys(crowd))) == 1
    (delivery,) = crowd.facts().deliveries
    assert (delivery.state, delivery.attempts, delivery.error) == ("sent", 4, "")


def test_wait_grows_four_times_each_try_with_chance_and_ends_at_four_hours() -> None:
    for attempts, most in ((1, 5), (2, 20), (3, 80), (6, 5_120), (7, 14_400), (60, 14_400)):
        waits = {backoff_s(attempts) for _ in range(50)}
        assert len(waits) > 40
        assert all(most / 2 <= wait <= most for wait in waits)


def test_message_that_nobody_takes_is_given_up_where_people_see_it_and_the_next_is_sent(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500, body=b"broken", times=MOST_TRIES)]
    crowd.alert()
    crowd.settle()
    failed = crowd.facts().deliveries[0]
    assert (failed.state, failed.attempts, failed.error) == ("failed", MOST_TRIES, "answered 500: broken")
    assert crowd.facts().is_failing
    crowd.alert()
    crowd.settle()
    assert crowd.facts().deliveries[0].state == "sent"
    assert not crowd.facts().is_failing


def test_refused_message_is_not_tried_again(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(400, body=b"invalid_payload")]
    crowd.alert()
    crowd.settle()
    assert len(crowd.hook.posts) == 1
    assert crowd.facts().deliveries[0].error == "answered 400: invalid_payload"


def test_receiver_that_asks_for_time_gets_it_and_all_its_messages_wait(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(429, {"retry-after": "1800"})]
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    crowd.step()
    assert len(crowd.hook.posts) == 1
    (delivery,) = crowd.facts().deliveries
    wait_s = (delivery.next_at - delivery.created_at).total_seconds()
    assert 1_790 < wait_s < 1_830
    crowd.settle(hurry=False, sweep=True)
    assert len(crowd.hook.posts) == 1, "it is not asked before"
    crowd.settle()
    assert [delivery.state for delivery in crowd.facts().deliveries] == ["sent"]


@pytest.mark.parametrize("asked", ["0", "1", ""])
def test_receiver_that_asks_for_a_second_is_tried_as_long_as_any_other(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(429, {"retry-after": asked}, times=99)]
    waits = []
    real = send_message.deliver

    def noted(turn: send_message.Turn) -> send_message.Sent:
        waits.append((sent := real(turn)).wait_s)
        return sent

    monkeypatch.setattr(notifying, "deliver", noted)
    crowd.alert()
    crowd.settle()
    assert len(waits) == MOST_TRIES
    assert 6.5 < sum(waits[:-1]) / 3600 < 14.5


def test_messages_to_one_receiver_go_one_after_the_other_with_a_rest(crowd: Crowd) -> None:
    crowd.add()
    with crowd.service.database.session() as session:
        for _ in range(2):
            send_test(session, crowd.service.settings, ADMIN, PROJECT, "ops")
    crowd.settle(hurry=False)
    assert len(crowd.hook.posts) == 1
    assert crowd.facts().waiting == 1
    crowd.settle()
    assert len(crowd.hook.posts) == 2
    assert len(set(keys(crowd))) == 2


@pytest.mark.parametrize(("status", "tries"), [(410, 1), (404, 3)])
def test_address_where_nobody_is_any_more_is_paused_and_says_so(
    crowd: Crowd, status: int, tries: int
) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(status, body=b"no_service", times=99)]
    crowd.alert()
    crowd.settle(sweep=False)
    assert len(crowd.hook.posts) == tries
    its = crowd.facts()
    assert its.is_paused
    assert its.paused_because == f"answered {status}: no_service: nobody is at this address"
    crowd.hook.moods = []
    crowd.alert()
    crowd.settle(sweep=False)
    assert len(crowd.hook.posts) == tries
    with crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle(sweep=False)
    types = [post.json["data"]["counts"] for post in crowd.hook.posts[tries:]]
    assert types == [{"new": 1}, {"new": 1}], "nothing was lost"


def test_404s_are_counted_apart_from_other_failures(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500, times=2), Mood(404, times=2), Mood(500), Mood(404, times=2)]
    crowd.alert()
    crowd.settle()
    assert not crowd.facts().is_paused
    assert len(crowd.hook.posts) == 8


def test_404s_are_counted_anew_once_somebody_has_resumed_it(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(404, times=5)]
    crowd.alert()
    crowd.settle()
    assert crowd.facts().is_paused
    with crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle()
    assert not crowd.facts().is_paused
    assert crowd.facts().deliveries[0].state == "sent"


def test_message_whose_last_try_finds_nobody_stays_until_somebody_resumes_it(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500, times=MOST_TRIES - 1), Mood(410)]
    crowd.alert()
    crowd.settle()
    assert crowd.facts().is_paused
    with crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle()
    assert crowd.facts().deliveries[0].state == "sent"


def test_address_that_is_gone_for_a_moment_is_not_paused(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(404, times=2)]
    crowd.alert()
    crowd.settle()
    assert not crowd.facts().is_paused
    assert crowd.facts().deliveries[0].state == "sent"


def test_who_dies_between_sending_and_noting_sends_once_more_under_the_same_key(crowd: Crowd) -> None:
    """The one place where something is said twice; its key is how a receiver knows."""
    crowd.add()
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    assert crowd.hook.posts == []
    its = crowd.service.settings
    env = {
        "RATCHET_DATABASE_URL": its.database_url,
        "RATCHET_REDIS_URL": its.redis_url,
        "RATCHET_PUBLIC_URL": its.public_url,
        "RATCHET_NOTIFY_PRIVATE": "true",
    }
    killed = subprocess.run([sys.executable, "-c", KILLED], env=os.environ | env, check=False)
    assert killed.returncode == -signal.SIGKILL
    crowd.settle(hurry=False, sweep=True)
    assert len(crowd.hook.posts) == 1, "another waits until the turn is over"
    crowd.hurry()
    crowd.settle(sweep=False)
    crowd.sweep()
    crowd.settle()
    assert len(crowd.hook.posts) == 2
    assert len(set(keys(crowd))) == 1


def test_who_dies_before_sending_loses_nothing(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    with crowd.service.database.session() as session:
        assert take_turn(session, crowd.service.settings, 1) is not None
    crowd.hurry()
    crowd.sweep()
    crowd.settle()
    assert len(crowd.hook.posts) == 1


@pytest.mark.parametrize("lost", ["notify.plan", "notify.compose", "notify.send"])
def test_message_of_the_queue_that_is_lost_is_found_by_the_sweep(crowd: Crowd, lost: str) -> None:
    """As where Redis was wiped: the outbox says that it was sent, and nobody did anything."""
    crowd.add()
    crowd.alert()
    for _ in range(4):
        with crowd.service.database.session() as session:
            wiped = session.scalar(
                text("update outbox set sent_at = now() where topic = :t and sent_at is null returning id"),
                {"t": lost},
            )
        if wiped:
            break
        crowd.hurry()
        crowd.step()
    assert wiped
    crowd.settle()
    assert crowd.hook.posts == []
    crowd.hurry()
    crowd.sweep()
    crowd.settle()
    assert len(crowd.hook.posts) == 1


def test_task_that_comes_twice_says_nothing_twice(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    for _ in range(3):
        with crowd.service.database.session() as session:
            session.execute(text("update outbox set sent_at = null"))
        crowd.settle()
    assert len(crowd.hook.posts) == 1


def test_turn_of_a_notifier_that_was_removed_meanwhile_ends_quietly(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    with crowd.service.database.session() as session:
        turn = take_turn(session, crowd.service.settings, 1)
    assert turn is not None
    with crowd.service.database.session() as session:
        session.execute(text("delete from told_alert"))
        session.execute(text("delete from notification"))
        session.execute(text("delete from notifier"))
    with crowd.service.database.session() as session:
        end_turn(session, turn, deliver(turn))


def on_its_way(crowd: Crowd) -> send_message.Turn:
    """Have an alert, and return the turn of who is to send the message of it."""
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    with crowd.service.database.session() as session:
        turn = take_turn(session, crowd.service.settings, 1)
    assert turn is not None
    return turn


@pytest.mark.parametrize("edit", ["resume", "address", "test"])
def test_message_that_is_on_its_way_is_sent_by_nobody_else(crowd: Crowd, edit: str) -> None:
    crowd.add()
    turn = on_its_way(crowd)
    settings = crowd.service.settings
    with crowd.service.database.session() as session:
        if edit == "resume":
            pause_notifier(session, ADMIN, PROJECT, "ops")
            resume_notifier(session, ADMIN, PROJECT, "ops")
        elif edit == "address":
            change_notifier(session, settings, ADMIN, PROJECT, "ops", address={"url": crowd.hook.url})
        else:
            send_test(session, settings, ADMIN, PROJECT, "ops")
    with crowd.service.database.session() as session:
        assert take_turn(session, settings, 1) is None
    crowd.settle(hurry=False, sweep=True)
    assert crowd.hook.posts == []
    with crowd.service.database.session() as session:
        end_turn(session, turn, deliver(turn))
    crowd.settle(sweep=True)
    assert len(set(keys(crowd))) == len(keys(crowd)) == (2 if edit == "test" else 1)


def test_address_that_is_changed_has_what_was_put_off_sent_at_once(crowd: Crowd) -> None:
    crowd.add()
    turn = on_its_way(crowd)
    with crowd.service.database.session() as session:
        end_turn(session, turn, send_message.Sent("away", wait_s=14_400))
        session.execute(text("update notifier set busy_until = null"))
    crowd.settle(hurry=False, sweep=True)
    assert crowd.hook.posts == []
    with crowd.service.database.session() as session:
        change_notifier(
            session, crowd.service.settings, ADMIN, PROJECT, "ops", address={"url": crowd.hook.url}
        )
    crowd.settle(hurry=False)
    assert len(crowd.hook.posts) == 1


def test_test_passes_a_message_that_is_put_off(crowd: Crowd) -> None:
    crowd.add()
    turn = on_its_way(crowd)
    with crowd.service.database.session() as session:
        end_turn(session, turn, send_message.Sent("away", wait_s=14_400))
        session.execute(text("update notifier set busy_until = null"))
        key = send_test(session, crowd.service.settings, ADMIN, PROJECT, "ops")
    crowd.settle(hurry=False)
    assert keys(crowd) == [key]
    assert [its.state for its in crowd.facts().deliveries] == ["sent", "waiting"]


def test_zone_that_there_is_no_more_keeps_nobody_from_being_told(crowd: Crowd) -> None:
    crowd.add("first")
    crowd.add("second")
    with crowd.service.database.session() as session:
        gone = "jsonb_set(wishes, '{zone}', '\"Mars/Olympus\"')"
        session.execute(text(f"update notifier set wishes = {gone} where name = 'first'"))
    crowd.alert()
    crowd.settle()
    assert len(crowd.hook.posts) == 2
    assert crowd.facts("first").wishes.zone == "UTC"


def test_turn_that_is_no_more_ones_own_ends_without_effect(crowd: Crowd) -> None:
    crowd.add()
    late = on_its_way(crowd)
    crowd.hurry()
    with crowd.service.database.session() as session:
        turn = take_turn(session, crowd.service.settings, 1)
    assert turn is not None
    with crowd.service.database.session() as session:
        end_turn(session, late, send_message.Sent("refused", is_final=True))
        assert take_turn(session, crowd.service.settings, 1) is None, "the other's claim stands"
    assert crowd.facts().deliveries[0].state == "waiting"
    with crowd.service.database.session() as session:
        end_turn(session, turn, deliver(turn))
        end_turn(session, late, send_message.Sent("refused", is_final=True))
    assert crowd.facts().deliveries[0].state == "sent"


def test_address_is_nowhere_in_the_database_as_it_is(crowd: Crowd) -> None:
    crowd.add()
    crowd.hook.moods = [Mood(500)]
    crowd.alert()
    crowd.settle()
    with crowd.service.database.session() as session:
        row = session.scalars(select(Notifier)).one()
        assert b"s3cr3t" not in row.address
        told = [
            str(vars(its))
            for kind in (Notifier, Notification, AuditLog)
            for its in session.scalars(select(kind))
        ]
    assert "s3cr3t" not in "".join(told)
    assert "whsec_" not in "".join(told)


def test_key_of_a_file_seals_addresses_and_another_one_does_not_open_them(crowd: Crowd, tmp_path) -> None:
    settings = crowd.service.settings
    (tmp_path / "key").write_text("a" * 40)
    settings.notify_key_file = str(tmp_path / "key")
    crowd.add()
    (tmp_path / "key").write_text("b" * 40)
    crowd.alert()
    for _ in range(3):
        crowd.hurry()
        crowd.step()
    assert crowd.hook.posts == []
    assert "sealed with another key" in crowd.facts().deliveries[0].error
    with crowd.service.database.session() as session:
        change_notifier(
            session,
            settings,
            ADMIN,
            PROJECT,
            "ops",
            address={"url": crowd.hook.url, "key": "whsec_" + "YWFh" * 10},
        )
    crowd.settle()
    assert len(crowd.hook.posts) == 1


def test_part_of_an_address_that_is_left_out_stays(crowd: Crowd) -> None:
    crowd.add()
    with crowd.service.database.session() as session:
        change_notifier(
            session, crowd.service.settings, ADMIN, PROJECT, "ops", address={"url": crowd.hook.url + "2"}
        )
        with pytest.raises(DataError, match="has no 'to'"):
            change_notifier(session, crowd.service.settings, ADMIN, PROJECT, "ops", address={"to": "a@b.org"})
    crowd.alert()
    crowd.settle()
    assert crowd.hook.posts[0].path.endswith("abcd2")
    assert crowd.hook.posts[0].headers["webhook-signature"]


def test_fault_of_ours_is_told_without_what_it_says(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"posting to {crowd.hook.url} failed")

    crowd.add()
    channel = send_message.CHANNELS["webhook"]
    monkeypatch.setitem(
        send_message.CHANNELS, "webhook", type(channel)(**{**vars(channel), "deliver": broken})
    )
    crowd.alert()
    crowd.step()
    for _ in range(3):
        crowd.hurry()
        crowd.step()
    assert crowd.facts().deliveries[0].error == "a fault: RuntimeError"
    assert "s3cr3t" not in caplog.text


def test_old_messages_go_but_for_those_that_an_open_alert_goes_on_from(crowd: Crowd) -> None:
    crowd.add()
    (still_open,) = crowd.alert()
    crowd.settle()
    (closed,) = crowd.alert()
    crowd.settle()
    crowd.move(closed, "fixed")
    crowd.settle()
    assert crowd.prune() == 2
    crowd.move(still_open, "fixed")
    crowd.move(closed, "new")
    crowd.settle()
    told = crowd.hook.posts[-1].json["data"]
    assert told["counts"] == {"settled": 1, "again": 1}


def test_first_message_of_an_alert_stays_until_its_end_was_told(crowd: Crowd) -> None:
    crowd.add()
    (alert,) = crowd.alert()
    crowd.settle()
    with crowd.service.database.session() as session:
        pause_notifier(session, ADMIN, PROJECT, "ops")
    crowd.move(alert, "fixed")
    crowd.settle()
    assert crowd.prune() == 0
    with crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle()
    assert crowd.hook.posts[1].json["data"]["update_of"] == crowd.hook.posts[0].headers["webhook-id"]
    assert crowd.prune() == 2


def test_list_of_messages_does_not_load_the_pages_that_they_bring(crowd: Crowd) -> None:
    crowd.add("mail", "email", Wishes(reports=("weekly_report",)))
    with crowd.service.database.session() as session:
        project = projects.project(session, PROJECT)
        for week in ("2026-W46", "2026-W47"):
            announce_report(session, project, week, f"Week {week}", "text", "https://x", html="x" * 4_000_000)
    crowd.facts("mail")
    tracemalloc.start()
    titles = [its.title for its in crowd.facts("mail").deliveries]
    _, peak_b = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert titles == ["Week 2026-W47", "Week 2026-W46"]
    assert peak_b < 2_000_000
