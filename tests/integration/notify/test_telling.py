"""What a notifier is told of an alert, from its opening to its end."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from sqlalchemy import func, select

from app.domain.notifications import About, Wishes
from app.services.notify.announce_report import announce_report
from app.services.notify.manage_notifiers import pause_notifier, remove_notifier, resume_notifier
from app.store.repositories import projects
from app.store.tables import Notifier
from tests.factories.histories import stepped
from tests.factories.receivers import text_of
from tests.integration.alerts.conftest import Team
from tests.integration.notify.conftest import ADMIN, PROJECT, Crowd

pytestmark = pytest.mark.postgres


def test_a_webhook_is_told_of_a_new_alert_once_and_signed(crowd: Crowd) -> None:
    key = crowd.add().made["key"]
    (alert,) = crowd.alert()
    crowd.settle()
    crowd.settle(sweep=False)
    (post,) = crowd.hook.posts
    assert post.json["type"] == "alert.new"
    data = post.json["data"]
    assert (data["project"], data["counts"], data["more"]) == ("acme/vision", {"new": 1}, 0)
    (told,) = data["alerts"]
    assert (told["id"], told["sentence"]) == (alert, "Latency_p50 of resize +36 %")
    assert told["url"] == f"http://testserver/alerts/{alert}"
    said = f"{post.headers['webhook-id']}.{post.headers['webhook-timestamp']}.".encode() + post.body
    signed = hmac.new(base64.b64decode(key.removeprefix("whsec_")), said, hashlib.sha256).digest()
    assert post.headers["webhook-signature"] == "v1," + base64.b64encode(signed).decode()
    assert post.headers["idempotency-key"] == post.headers["webhook-id"]
    (delivery,) = crowd.facts().deliveries
    assert (delivery.state, delivery.attempts, delivery.error) == ("sent", 1, "")


def test_one_alert_is_one_thread_from_its_opening_to_its_end_and_back(crowd: Crowd) -> None:
    crowd.add()
    (alert,) = crowd.alert()
    crowd.settle()
    crowd.move(alert, "acknowledged")
    crowd.settle()
    crowd.move(alert, "fixed", comment="reverted the filter")
    crowd.settle()
    crowd.move(alert, "new", by="bob")
    crowd.settle()
    first, *others = crowd.hook.posts
    assert [post.json["type"] for post in crowd.hook.posts] == ["alert.new", "alert.settled", "alert.again"]
    assert {post.json["data"]["update_of"] for post in others} == {first.headers["webhook-id"]}
    told = others[0].json["data"]["alerts"][0]
    assert (told["state"], told["moved_by"], told["comment"]) == ("fixed", "ada", "reverted the filter")


def test_alert_that_came_and_went_before_anybody_was_told_is_not_told(crowd: Crowd) -> None:
    crowd.add()
    (alert,) = crowd.alert()
    crowd.move(alert, "noise")
    crowd.settle()
    assert crowd.hook.posts == []


def test_who_came_later_is_not_told_of_what_was_before(crowd: Crowd) -> None:
    crowd.add("first")
    crowd.alert()
    crowd.settle()
    crowd.add("second")
    crowd.settle(sweep=True)
    assert len(crowd.hook.posts) == 1
    assert crowd.facts("second").deliveries == ()


def test_change_in_a_history_is_told_and_again_when_it_is_a_quarter_worse(team: Team, crowd: Crowd) -> None:
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    crowd.add(wishes=Wishes(min_change=0.1))
    (alert,) = team.raised()
    crowd.settle()
    (post,) = crowd.hook.posts
    (told,) = post.json["data"]["alerts"]
    assert round(told["change"], 1) == 0.2
    assert told["sentence"].startswith("resize[batch=32] latency_p50 +")
    team.grow("crop", stepped(60, 30, 0.21, seed=2))
    team.sweep()
    crowd.settle()
    assert len(crowd.hook.posts) == 1, "another change of its size is no news"
    team.grow("rotate", stepped(60, 30, 0.5, seed=3))
    team.sweep()
    crowd.settle()
    _, worse = crowd.hook.posts
    assert worse.json["type"] == "alert.worse"
    assert worse.json["data"]["alerts"][0]["id"] == alert["id"]
    assert worse.json["data"]["update_of"] == post.headers["webhook-id"]


def test_smaller_changes_than_somebody_wants_are_not_told(team: Team, crowd: Crowd) -> None:
    crowd.add("all")
    crowd.add("large", wishes=Wishes(min_change=0.3))
    crowd.add("checks", wishes=Wishes(about=(About.CHECKS,)))
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    team.sweep()
    crowd.settle()
    assert [len(crowd.facts(name).deliveries) for name in ("all", "large", "checks")] == [1, 0, 0]


@pytest.mark.parametrize(
    ("owner", "owners", "is_told"),
    [
        (None, None, True),
        (None, [], False),
        (None, ["@acme/kernels"], True),
        (None, ["bob"], False),
        ("ACME/Kernels", ["bob"], True),
    ],
)
def test_alerts_of_others_are_not_told_but_those_are_of_which_nobody_knows(
    crowd: Crowd, owner: str | None, owners: list[str] | None, is_told: bool
) -> None:
    crowd.add(wishes=Wishes(owners=("acme/kernels",)))
    crowd.alert(owner=owner, owners=owners)
    crowd.settle()
    assert bool(crowd.hook.posts) is is_told


def test_burst_of_a_thousand_alerts_is_one_message_with_the_first_few(crowd: Crowd) -> None:
    crowd.add("ops")
    crowd.add("mail", "email")
    ids = crowd.alert(n=1_000)
    crowd.settle()
    (post,) = crowd.hook.posts
    data = post.json["data"]
    assert (post.json["type"], data["counts"], data["more"]) == ("alerts", {"new": 1_000}, 995)
    assert [its["id"] for its in data["alerts"]] == ids[:5]
    assert data["url"] == "http://testserver/alerts?project=acme%2Fvision"
    (mail,) = crowd.post.mails
    assert mail["Subject"] == "acme/vision: 1 000 new alerts"
    assert "And 995 more alerts." in text_of(mail, "plain")
    crowd.alert(n=500)
    crowd.step()
    assert crowd.facts().due_at is not None
    assert len(crowd.hook.posts) == 1, "what comes on top waits, so that it is one message, too"


def test_pausing_keeps_what_happens_for_later_in_one_message(crowd: Crowd) -> None:
    crowd.add()
    with crowd.service.database.session() as session:
        pause_notifier(session, ADMIN, PROJECT, "ops")
    crowd.alert()
    (gone,) = crowd.alert()
    crowd.settle(sweep=False)
    crowd.move(gone, "noise")
    crowd.alert()
    crowd.settle()
    assert crowd.hook.posts == []
    with crowd.service.database.session() as session:
        resume_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle(sweep=True, hurry=False)
    (post,) = crowd.hook.posts
    assert post.json["data"]["counts"] == {"new": 2}


def test_removed_notifier_is_told_nothing_more_and_its_address_is_gone(crowd: Crowd) -> None:
    crowd.add()
    crowd.alert()
    crowd.step()
    with crowd.service.database.session() as session:
        remove_notifier(session, ADMIN, PROJECT, "ops")
    crowd.settle()
    assert crowd.hook.posts == []
    with crowd.service.database.session() as session:
        assert session.scalar(select(func.count()).select_from(Notifier)) == 0


def test_weekly_report_goes_to_who_asked_for_it_once(crowd: Crowd) -> None:
    crowd.add("mail", "email", Wishes(reports=("weekly_report",)))
    crowd.add("chat", "slack", Wishes(about=(), reports=("weekly_report",)))
    crowd.add("ops")
    page = "<!doctype html><title>Week 47</title><p>2 % slower"
    for expected in (2, 0):
        with crowd.service.database.session() as session:
            its = projects.project(session, PROJECT)
            n = announce_report(
                session,
                its,
                "2026-W47",
                "acme/vision: week 47",
                "Two slower.",
                "http://r/weeks/47",
                html=page,
                letter="<p>Two got slower, as a letter.",
            )
        assert n == expected
    crowd.settle()
    (mail,) = crowd.post.mails
    assert mail["Subject"] == "acme/vision: week 47"
    assert "Two slower." in text_of(mail, "plain")
    assert "Two got slower, as a letter." in text_of(mail, "html")
    (attached,) = mail.iter_attachments()
    assert (attached.get_filename(), attached.get_content()) == ("report.html", page)
    (post,) = crowd.hook.posts
    assert post.json["text"] == "*<http://r/weeks/47|acme/vision: week 47>*\nTwo slower."


def test_who_wants_no_alerts_any_more_is_told_that_those_they_know_are_settled(crowd: Crowd) -> None:
    crowd.add()
    (known,) = crowd.alert("regressed: resize")
    crowd.settle()
    crowd.change(Wishes(about=(About.FLEET,)))
    crowd.move(known, "investigating")
    crowd.alert("regressed: crop")
    crowd.settle()
    assert len(crowd.hook.posts) == 1
    crowd.move(known, "fixed")
    crowd.settle()
    crowd.move(known, "new")
    crowd.settle()
    first, second = crowd.hook.posts
    assert second.json["type"] == "alert.settled"
    assert second.json["data"]["update_of"] == first.headers["webhook-id"]
