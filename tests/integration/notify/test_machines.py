"""What people are told of the machines that their project is measured on: apart from alerts, in the same way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.domain.incidents import IncidentEnd
from app.domain.notifications import About, NotifierKind, Pace, Wishes
from app.services.backups.resume import resume
from app.services.notify.manage_notifiers import (
    add_notifier,
    pause_notifier,
    remove_notifier,
    resume_notifier,
)
from app.services.notify.plan_machines import plan_machines
from app.services.watch_fleet import watch_fleet
from app.store.repositories import access
from app.tasks.sweeping import sweep_all
from tests.factories import stored
from tests.factories.receivers import Mood, text_of
from tests.integration.notify.conftest import ADMIN, PROJECT, Crowd
from tests.integration.notify.rack import OFF, Rack
from tests.integration.notify.test_digest import QUIET
from tests.integration.notify.test_restored import RESTORED

pytestmark = pytest.mark.postgres

FLEET = Wishes(about=(About.FLEET,))
SAID = "device gpu-1 (h100) was put into quarantine: gemm_bf16 of its control took 10.4 ms, 10 ms is usual (+4.1 %)"


@pytest.fixture
def rack(crowd: Crowd) -> Rack:
    its = Rack(crowd)
    its.used_by()
    return its


def test_quarantine_and_its_end_are_one_thread(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.settle()
    rack.release(1)
    rack.settle()
    first, second = rack.posts
    assert (first["type"], first["data"]["title"]) == ("machine.new", f"{PROJECT}: {SAID}")
    assert first["data"]["machine_counts"] == {"new": {"quarantined": 1}}
    assert "alerts" not in first["data"]
    (told,) = first["data"]["machines"]
    assert (told["what"], told["kind"], told["name"], told["device_classes"]) == (
        "new",
        "quarantined",
        "gpu-1",
        ["h100"],
    )
    assert told["url"] == first["data"]["url"]
    assert told["url"].startswith("http://testserver/workers#device-")
    assert "other devices of its class do" in told["meaning"]
    assert (told["closed_at"], told["ended_by"]) == (None, None)
    assert second["type"] == "machine.settled"
    assert second["data"]["update_of"] == rack.crowd.hook.posts[0].headers["webhook-id"]
    (over,) = second["data"]["machines"]
    assert (
        over["sentence"] == "device gpu-1 (h100) takes jobs again: a calibration found its control as usual"
    )
    assert (over["ended_by"], over["advice"]) == ("calibration", None)
    assert over["closed_at"] > over["opened_at"]


def test_second_quarantine_of_a_device_is_another_incident(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    for _ in range(2):
        rack.quarantine(1)
        rack.settle()
        rack.release(1, by=IncidentEnd.ADMINISTRATOR)
        rack.settle()
    assert [post["type"] for post in rack.posts] == ["machine.new", "machine.settled"] * 2
    assert rack.posts[2]["data"]["update_of"] is None


def test_device_that_is_released_before_anybody_was_told_is_not_told(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.release(1)
    rack.settle()
    assert rack.posts == []


def test_burst_of_a_hundred_devices_is_one_message_with_the_first_few(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.crowd.add("mail", "email", FLEET)
    for begin in (1, 51):
        rack.quarantine(*range(begin, begin + 50))
        with rack.crowd.service.database.session() as session:
            plan_machines(session)
    rack.settle()
    (post,) = rack.posts
    data = post["data"]
    assert (post["type"], data["machine_counts"], data["more_machines"]) == (
        "machines",
        {"new": {"quarantined": 100}},
        95,
    )
    assert [its["name"] for its in data["machines"]] == [f"gpu-{n}" for n in range(1, 6)]
    assert data["url"] == "http://testserver/workers"
    (mail,) = rack.crowd.post.mails
    assert mail["Subject"] == "acme/vision: 100 devices quarantined"
    assert "And 95 more incidents." in text_of(mail, "plain")
    assert text_of(mail, "plain").count("It takes no jobs") == 1, "what follows is the same for all of them"
    assert "All workers: http://testserver/workers" in text_of(mail, "plain")
    rack.quarantine(*range(101, 110))
    with rack.crowd.service.database.session() as session:
        plan_machines(session)
    rack.crowd.step()
    assert len(rack.posts) == 1, "what comes on top waits, so that it is one message, too"


def test_who_did_not_choose_machines_is_told_of_none(rack: Rack) -> None:
    rack.crowd.add("alerts")
    rack.crowd.add("digest", wishes=Wishes(pace=Pace.DAILY, empty_digests=True))
    rack.quarantine(1)
    rack.come()
    (digest,) = rack.posts
    assert (digest["type"], digest["data"]["machines"]) == ("digest", [])


def test_who_chose_machines_alone_is_told_of_no_alert(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.crowd.alert()
    rack.settle()
    assert rack.posts == []


def test_alert_and_machine_at_the_same_time_are_two_messages(rack: Rack) -> None:
    rack.crowd.add(wishes=Wishes(about=tuple(About)))
    rack.crowd.alert()
    rack.quarantine(1)
    rack.settle()
    assert [post["type"] for post in rack.posts] == ["alert.new", "machine.new"]


def test_memory_errors_are_of_the_fleet_and_not_of_the_control(rack: Rack) -> None:
    rack.crowd.add(wishes=Wishes(about=(About.CONTROL,)))
    rack.quarantine(1, ecc_uncorrected=1)
    rack.quarantine(2)
    rack.settle()
    (post,) = rack.posts
    assert post["data"]["machines"][0]["name"] == "gpu-2"


def test_smallest_change_and_owners_do_not_keep_a_machine_from_being_told(rack: Rack) -> None:
    rack.crowd.add(wishes=Wishes(about=(About.FLEET,), min_change=0.5, owners=("ada",)))
    rack.quarantine(1)
    rack.settle()
    assert len(rack.posts) == 1


def test_project_is_told_of_the_classes_that_it_uses(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.used_by(device_class="l4", days_ago=31)
    rack.used_by("other/one", device_class="a100")
    rack.quarantine(1, device_class="l4")
    rack.quarantine(2, device_class="a100")
    rack.quarantine(3, device_class="h100")
    rack.settle()
    (post,) = rack.posts
    assert [its["name"] for its in post["data"]["machines"]] == ["gpu-3"]


def test_two_projects_that_use_a_class_are_both_told(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.used_by("other/one")
    with rack.crowd.service.database.session() as session:
        its = {"kind": NotifierKind.WEBHOOK, "address": {"url": rack.crowd.hook.url}, "wishes": FLEET}
        add_notifier(session, rack.crowd.service.settings, ADMIN, "other/one", name="theirs", **its)
    rack.quarantine(1)
    rack.settle()
    assert sorted(post["data"]["project"] for post in rack.posts) == [PROJECT, "other/one"]


def test_who_came_later_is_not_told_of_what_was_before(rack: Rack) -> None:
    rack.quarantine(1)
    rack.settle()
    rack.crowd.add(wishes=FLEET)
    rack.release(1)
    rack.settle()
    assert rack.posts == []


def test_project_that_has_stopped_using_a_class_is_told_the_end_of_what_it_was_told(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.stops_using()
    rack.quarantine(2)
    rack.release(1)
    rack.settle()
    assert [(post["type"], post["data"]["update_of"]) for post in rack.posts] == [
        ("machine.new", None),
        ("machine.settled", rack.crowd.hook.posts[0].headers["webhook-id"]),
    ]


@pytest.mark.parametrize(
    "wishes",
    [
        pytest.param(Wishes(), id="alerts alone"),
        pytest.param(Wishes(about=(About.CONTROL,)), id="other machines"),
        pytest.param(Wishes(about=(), reports=("weekly_report",)), id="reports alone"),
        pytest.param(Wishes(pace=Pace.DAILY), id="a digest of alerts"),
        pytest.param(Wishes(about=(), pace=Pace.DAILY, reports=("weekly_report",)), id="reports, daily"),
    ],
)
def test_who_wants_no_machines_any_more_is_told_the_end_of_what_it_was_told_and_nothing_else(
    rack: Rack, wishes: Wishes
) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1, ecc_uncorrected=1)
    rack.settle()
    rack.crowd.change(wishes)
    rack.release(1)
    rack.quarantine(2, ecc_uncorrected=1)
    rack.come()
    rack.come()
    first, second = rack.posts
    assert first["type"] == "machine.new"
    assert second["data"]["machine_counts"] == {"settled": {"quarantined": 1}}
    assert rack.crowd.facts().due_at is None or wishes.of_alerts


def test_paused_notifier_that_wants_no_machines_any_more_is_told_the_end_when_it_is_resumed(
    rack: Rack,
) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    with rack.crowd.service.database.session() as session:
        pause_notifier(session, ADMIN, PROJECT, "ops")
    rack.crowd.change(Wishes())
    rack.release(1)
    rack.settle()
    assert len(rack.posts) == 1
    with rack.crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    rack.settle()
    assert [post["type"] for post in rack.posts] == ["machine.new", "machine.settled"]


def test_devices_that_were_in_quarantine_before_an_upgrade_are_one_message_to_who_was_there_before_them(
    rack: Rack,
) -> None:
    rack.crowd.add(wishes=FLEET)
    with rack.crowd.service.database.session() as session:
        session.execute(text("update notifier set created_at = created_at - interval '50 days'"))
    rack.crowd.add("later", wishes=FLEET)
    with rack.crowd.service.database.session() as session:
        for n in range(1, 8):
            stored.put_away(session, rack.device(session, n), OFF, ago=timedelta(days=40))
        watch_fleet(session, rack.crowd.service.settings)
    rack.settle()
    rack.release(1)
    rack.settle()
    first, second = rack.posts
    assert first["data"]["machine_counts"] == {"new": {"quarantined": 7}}
    opened = datetime.fromisoformat(first["data"]["machines"][0]["opened_at"])
    assert datetime.now(UTC) - opened > timedelta(days=39)
    assert second["data"]["machine_counts"] == {"settled": {"quarantined": 1}}
    assert {its.title for its in rack.crowd.facts("later").deliveries} == set()


def test_quarantine_that_the_release_before_ended_is_over_here_too(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    with rack.crowd.service.database.session() as session:
        device = rack.device(session, 1)
        device.health = "good"
        access.audit(session, "ada", "device.released", f"device/{device.id}", by="administrator")
        session.flush()
        watch_fleet(session, rack.crowd.service.settings)
    rack.settle()
    _, second = rack.posts
    (over,) = second["data"]["machines"]
    assert (second["type"], over["ended_by"]) == ("machine.settled", "administrator")


def test_in_quiet_hours_machines_wait_for_their_end_whatever_breaks_through(rack: Rack) -> None:
    rack.crowd.add(wishes=Wishes(**QUIET, breaks_through=0.01, about=(About.FLEET,)))
    rack.quarantine(1, 2, 3)
    rack.settle()
    rack.release(2)
    rack.settle()
    assert rack.posts == []
    due = rack.crowd.facts().due_at
    assert due is not None
    assert f"{due:%H:%M}" == QUIET["quiet_until"]
    with rack.crowd.service.database.session() as session:
        session.execute(
            text('update notifier set wishes = wishes || \'{"quiet_from": "", "quiet_until": ""}\'')
        )
    rack.come()
    (post,) = rack.posts
    assert [its["name"] for its in post["data"]["machines"]] == ["gpu-1", "gpu-3"]


def test_digest_tells_machines_in_parts_of_their_own(rack: Rack) -> None:
    rack.crowd.add("mail", "email", Wishes(about=tuple(About), pace=Pace.DAILY))
    rack.crowd.alert("regressed: resize")
    rack.quarantine(1, 2)
    rack.release(2)
    rack.settle()
    assert rack.crowd.post.mails == [], "it is not told at once"
    rack.come()
    (first,) = rack.crowd.post.mails
    assert first["Subject"] == "acme/vision: 1 new alert, 1 device quarantined and 1 device released"
    body = text_of(first, "plain")
    assert body.index("new: Resize") < body.index("Machines:") < body.index("Machines: over:")
    assert "Device gpu-2 (h100) takes jobs again" in body
    rack.come()
    assert len(rack.crowd.post.mails) == 1, "what is not over is no news by itself"
    rack.quarantine(3)
    rack.come()
    _, second = rack.crowd.post.mails
    still = text_of(second, "plain").partition("Machines: not over yet:")[2]
    assert "Device gpu-1 (h100) was put into quarantine" in still


def test_pausing_keeps_machines_for_later(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    with rack.crowd.service.database.session() as session:
        pause_notifier(session, ADMIN, PROJECT, "ops")
    rack.quarantine(1)
    rack.settle()
    rack.quarantine(2)
    rack.settle()
    assert rack.posts == []
    with rack.crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    rack.settle()
    (post,) = rack.posts
    assert post["data"]["machine_counts"] == {"new": {"quarantined": 2}}


def test_restored_service_tells_of_no_machine_until_it_goes_on(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    with rack.crowd.service.database.session() as session:
        session.execute(text(RESTORED))
    rack.settle()
    assert rack.crowd.facts().due_at is None
    with rack.crowd.service.database.session() as session:
        resume(session, set(), None)
    rack.settle()
    assert len(rack.posts) == 1


def test_slack_is_told_what_follows_and_what_to_do_and_the_end_as_a_short_update(rack: Rack) -> None:
    rack.crowd.add("chat", "slack", FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.release(1)
    rack.settle()
    first, update = (post["text"] for post in rack.posts)
    head, since, meaning, advice = first.splitlines()
    assert head.startswith("*<http://testserver/workers#device-")
    assert "gemmˍbf16" not in head
    assert since.startswith("since 20")
    assert meaning.startswith("It takes no jobs")
    assert advice.startswith("Calibrations look whether it is over")
    assert update.startswith("*released*: <http://testserver/workers#device-")
    assert "told at 20" in update
    assert len(update.splitlines()) == 2


def test_mail_says_what_follows_and_its_update_is_a_reply(rack: Rack) -> None:
    rack.crowd.add("mail", "email", FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.release(1)
    rack.settle()
    first, second = rack.crowd.post.mails
    assert SAID[1:] in text_of(first, "plain")
    for kind in ("plain", "html"):
        assert "Calibrations look whether it is over" in text_of(first, kind)
    assert second["In-Reply-To"] == first["Message-ID"]
    assert "it lasted" in text_of(second, "plain")


def test_removed_notifier_leaves_nothing_behind(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.quarantine(2)
    with rack.crowd.service.database.session() as session:
        plan_machines(session)
        remove_notifier(session, ADMIN, PROJECT, "ops")
    with rack.crowd.service.database.session() as session:
        for table in ("incident_news", "told_incident"):
            assert session.scalar(text(f"select count(*) from {table}")) == 0


def test_old_messages_go_but_for_those_that_an_open_incident_goes_on_from(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    rack.quarantine(2)
    rack.settle()
    rack.release(2)
    rack.settle()
    assert rack.crowd.prune() == 2
    rack.release(1)
    rack.settle()
    assert rack.posts[-1]["data"]["update_of"] == rack.crowd.hook.posts[0].headers["webhook-id"]


def resumed(rack: Rack) -> None:
    with rack.crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    rack.settle()


def test_first_message_stays_until_its_end_was_told(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    rack.settle()
    with rack.crowd.service.database.session() as session:
        pause_notifier(session, ADMIN, PROJECT, "ops")
    rack.release(1)
    rack.settle()
    assert rack.crowd.prune() == 0, "it is over, and the notifier does not know"
    rack.crowd.hook.moods = [Mood(410)]
    resumed(rack)
    assert rack.crowd.prune() == 0, "what goes on from it waits"
    resumed(rack)
    assert rack.posts[-1]["data"]["update_of"] == rack.crowd.hook.posts[0].headers["webhook-id"]
    assert rack.crowd.prune() == 2


def test_sweep_finds_what_happened_and_has_it_told(rack: Rack) -> None:
    rack.crowd.add(wishes=FLEET)
    rack.quarantine(1)
    assert sweep_all(rack.crowd.service)
    rack.crowd.step()
    due = rack.crowd.facts().due_at
    assert due is not None
    assert timedelta(seconds=20) < due - datetime.now(UTC) < timedelta(seconds=31), "a rack fails together"
    rack.crowd.settle()
    assert len(rack.posts) == 1
