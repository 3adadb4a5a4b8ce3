"""Mail: one thread of each alert, text and HTML, by a server that encrypts and asks who we are."""

from __future__ import annotations

import ssl
import subprocess
import time
from pathlib import Path

import pytest
from aiosmtpd.smtp import AuthResult
from sqlalchemy import text

from app.domain.notifications import Wishes
from app.integrations.notifiers import mail
from app.services.notify.send_message import Turn, deliver, take_turn
from tests.factories.receivers import Postbox, text_of
from tests.integration.notify.conftest import Crowd

pytestmark = pytest.mark.postgres

HOSTILE = "regressed: <script>alert(1)</script> of <!channel> @everyone\r\nBcc: eve@example.org"


def test_updates_of_an_alert_are_one_thread(crowd: Crowd) -> None:
    crowd.add("mail", "email")
    (alert,) = crowd.alert()
    crowd.settle()
    crowd.move(alert, "fixed", comment="reverted")
    crowd.settle()
    first, second = crowd.post.mails
    assert first["Subject"] == "acme/vision: new: Latency_p50 of resize +36 %"
    assert second["Subject"] == f"Re: {first['Subject']}"
    assert second["In-Reply-To"] == second["References"] == first["Message-ID"]
    assert first["Message-ID"].endswith("@testserver>")
    assert first["In-Reply-To"] is None
    assert second["Message-ID"] != first["Message-ID"]
    assert (first["From"], first["To"]) == ("Ratchet <ratchet@example.org>", "ops@example.org")
    assert first["Auto-Submitted"] == "auto-generated"
    assert crowd.post.envelopes[0] == ("ratchet@example.org", ["ops@example.org"])
    assert f"http://testserver/alerts/{alert}" in text_of(first, "plain")
    assert f'<a href="http://testserver/alerts/{alert}">' in text_of(first, "html")
    assert "by ada: reverted" in text_of(second, "plain")


def test_names_begin_no_header_and_are_text_in_html(crowd: Crowd) -> None:
    crowd.add("mail", "email")
    crowd.alert(HOSTILE)
    crowd.settle()
    (mail,) = crowd.post.mails
    assert mail["Bcc"] is None
    assert crowd.post.envelopes[0][1] == ["ops@example.org"]
    assert "<script>" not in text_of(mail, "html")
    assert "&lt;script&gt;" in text_of(mail, "html")


@pytest.mark.parametrize("answer", ["550 who are you", "530 5.7.0 sign in first", "553 not from there"])
def test_server_that_refuses_us_is_tried_again(crowd: Crowd, answer: str) -> None:
    """Whoever runs the service mends it; no letter is lost by it."""
    crowd.add("mail", "email")
    crowd.post.of_senders = [answer]
    crowd.alert()
    crowd.settle()
    assert len(crowd.post.mails) == 1


def test_530_at_the_letter_is_about_us_and_550_about_the_letter(crowd: Crowd) -> None:
    crowd.add("mail", "email")
    crowd.post.refusals = ["530 5.7.0 sign in first"]
    crowd.alert()
    crowd.settle()
    assert len(crowd.post.mails) == 1
    crowd.post.refusals = ["550 no such letters"]
    crowd.alert()
    crowd.settle()
    assert len(crowd.post.mails) == 1
    assert crowd.facts("mail").deliveries[0].state == "failed"


def told(crowd: Crowd) -> list[list[str]]:
    return [people for _, people in crowd.post.envelopes]


LATER, NEVER = "450 4.2.0 greylisted", "550 5.1.1 nobody of this name"


def test_receiver_that_is_put_off_is_tried_again_alone(crowd: Crowd) -> None:
    crowd.add("mail", "email", to="ada@example.org, bob@example.org, eve@example.org")
    crowd.post.of_receivers = {"bob@example.org": [LATER], "eve@example.org": [LATER, LATER]}
    crowd.alert()
    crowd.settle()
    assert told(crowd) == [["ada@example.org"], ["bob@example.org"], ["eve@example.org"]]
    assert len({mail["Message-ID"] for mail in crowd.post.mails}) == 1
    assert crowd.facts("mail").deliveries[0].state == "sent"


def test_receiver_that_is_refused_keeps_none_from_it_and_is_named(crowd: Crowd) -> None:
    crowd.add("mail", "email", to="eve@example.org, bob@example.org, ada@example.org")
    crowd.post.of_receivers = {"bob@example.org": [LATER], "eve@example.org": [NEVER] * 9}
    crowd.alert()
    crowd.settle()
    assert told(crowd) == [["ada@example.org"], ["bob@example.org"]]
    (delivery,) = crowd.facts("mail").deliveries
    assert delivery.state == "failed"
    assert delivery.error == f"sent, but not to eve@example.org: {NEVER}"


def test_where_none_is_taken_one_that_is_put_off_has_it_tried_again(crowd: Crowd) -> None:
    crowd.add("mail", "email", to="eve@example.org, bob@example.org")
    crowd.post.of_receivers = {"bob@example.org": [LATER], "eve@example.org": [NEVER] * 9}
    crowd.alert()
    crowd.settle()
    assert told(crowd) == [["bob@example.org"]]


def test_server_that_thinks_long_about_a_whole_mail_gets_it_once(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "SERVER_S", 0.3)
    monkeypatch.setattr(mail, "BEFORE_S", 0.6)
    crowd.add("mail", "email")
    crowd.post.wait_end_s = 1.0
    crowd.alert()
    crowd.settle()
    assert len(crowd.post.mails) == 1
    assert crowd.facts("mail").deliveries[0].state == "sent"


def test_server_that_dawdles_before_it_has_the_mail_is_left_in_time(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "SERVER_S", 0.4)
    monkeypatch.setattr(mail, "BEFORE_S", 0.6)
    people = ", ".join(f"p{number}@example.org" for number in range(10))
    crowd.add("mail", "email", to=people)
    crowd.post.wait_s = 0.2
    turn = turn_of(crowd)
    began = time.monotonic()
    sent = deliver(turn)
    assert time.monotonic() - began < 1.5
    assert sent.error.startswith("the mail server cannot be reached")
    assert not sent.is_final
    assert crowd.post.mails == []


def test_turn_of_a_mail_outlasts_the_longest_try(crowd: Crowd) -> None:
    crowd.add("mail", "email")
    turn_of(crowd)
    with crowd.service.database.session() as session:
        held = session.execute(text("select busy_until - clock_timestamp() from notifier")).scalar_one()
    assert held.total_seconds() > mail.BEFORE_S + mail.END_S + 30


def turn_of(crowd: Crowd) -> Turn:
    """Have an alert, and return the turn of who is to send its mail."""
    crowd.alert()
    crowd.step()
    crowd.hurry()
    crowd.step()
    with crowd.service.database.session() as session:
        turn = take_turn(session, crowd.service.settings, 1)
    assert turn is not None
    return turn


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *named], check=True, capture_output=True)
    return key, certificate


def test_mail_leaves_by_starttls_with_name_and_password(
    crowd: Crowd, certificate: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, its = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(its, key)
    seen = []

    def authenticate(server, session, envelope, mechanism, data):
        seen.append((session.ssl is not None, data.login, data.password))
        return AuthResult(success=True)

    crowd.add("mail", "email")
    (tmp_path / "password").write_text("pass/word\n")
    crowd.service.settings.smtp_password_file = str(tmp_path / "password")
    options = {"tls_context": context, "authenticator": authenticate, "auth_required": True}
    with Postbox().serving(**options) as box:
        crowd.service.settings.smtp_url = box.url.replace("smtp+plain://", "smtp://ada%40x@")
        crowd.alert()
        crowd.settle()
        assert box.mails == []
        failed = crowd.facts("mail").deliveries[0]
        assert failed.state == "failed" or "cannot be reached" in failed.error, "its certificate is nobody's"
        monkeypatch.setenv("SSL_CERT_FILE", str(its))
        crowd.alert("regressed: again")
        crowd.settle()
        assert box.mails
        assert seen[-1] == (True, b"ada@x", b"pass/word")


def test_server_without_tls_is_told_nothing_where_it_is_asked_for(crowd: Crowd) -> None:
    crowd.service.settings.smtp_url = crowd.post.url.replace("smtp+plain://", "smtp://")
    crowd.add("mail", "email", Wishes())
    crowd.alert()
    crowd.step()
    for _ in range(4):
        crowd.hurry()
        crowd.step()
    assert crowd.post.mails == []
    assert "cannot do what RATCHET_SMTP_URL asks for" in crowd.facts("mail").deliveries[0].error
