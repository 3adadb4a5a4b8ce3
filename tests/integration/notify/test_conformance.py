"""Every kind of receiver: what it is told arrives, is tried again where that helps, and no secret gets out."""

from __future__ import annotations

import asyncio
import logging

import pytest

from app.domain.errors import DataError, UnavailableError
from app.domain.notifications import Letter, NotifierKind
from app.integrations.notifiers import (
    CHANNELS,
    Reach,
    ReceiverBusyError,
    ReceiverGoneError,
    ReceiverRefusedError,
    posting,
)
from tests.factories.receivers import Mood, Postbox, Receiver

OPEN = Reach(private=True, mail_from="Ratchet <ratchet@example.org>", host="ratchet.test")
CLOSED = Reach()
LETTER = Letter("msg_1", "a title", "a text", html="<p>a text", body=b'{"text":"a"}')
POSTED = [kind for kind, channel in CHANNELS.items() if any(its.name == "url" for its in channel.fields)]
SENT = [kind for kind, channel in CHANNELS.items() if channel.deliver is not None]


@pytest.fixture
def hook():
    with Receiver().serving() as its:
        yield its


@pytest.fixture
def postbox():
    with Postbox().serving() as its:
        yield its


def address_of(kind: NotifierKind, url: str, reach: Reach = OPEN) -> dict[str, str]:
    channel = CHANNELS[kind]
    return channel.checked({**channel.made(), "url": url}, reach)


def deliver(kind: NotifierKind, url: str, reach: Reach = OPEN) -> None:
    send = CHANNELS[kind].deliver
    assert send is not None
    send(address_of(kind, url), LETTER, reach)


def test_every_kind_is_in_the_registry_and_says_what_it_needs() -> None:
    assert set(CHANNELS) == set(NotifierKind)
    for channel in CHANNELS.values():
        assert channel.title
        assert all(field.title and field.help for field in channel.fields)
        assert set(channel.made()) <= {field.name for field in channel.fields}


@pytest.mark.parametrize("kind", POSTED)
@pytest.mark.parametrize(
    ("mood", "error"),
    [
        (Mood(500), UnavailableError),
        (Mood(503), UnavailableError),
        (Mood(408), UnavailableError),
        (Mood(cut=True), UnavailableError),
        (Mood(429, {"retry-after": "7"}), ReceiverBusyError),
        (Mood(503, {"retry-after": "7"}), ReceiverBusyError),
        (Mood(404), ReceiverGoneError),
        (Mood(410), ReceiverGoneError),
        (Mood(400, body=b"invalid_payload"), ReceiverRefusedError),
        (Mood(302, {"location": "http://127.0.0.1:1/"}), ReceiverRefusedError),
        (Mood(307, {"location": "/elsewhere"}), ReceiverRefusedError),
    ],
)
def test_answer_is_understood_and_a_redirect_not_followed(
    kind: NotifierKind, hook: Receiver, mood: Mood, error: type[Exception]
) -> None:
    hook.moods = [mood]
    with pytest.raises(error) as raised:
        deliver(kind, hook.url)
    assert type(raised.value) is error
    assert "s3cr3t" not in str(raised.value)
    assert len(hook.posts) == 1
    if isinstance(raised.value, ReceiverBusyError):
        assert raised.value.wait_s == 7
    if isinstance(raised.value, ReceiverGoneError):
        assert raised.value.is_certain is (mood.status == 410)


@pytest.mark.parametrize("kind", POSTED)
def test_the_same_message_has_the_same_key_at_every_try(kind: NotifierKind, hook: Receiver) -> None:
    for _ in range(2):
        deliver(kind, hook.url)
    assert {post.headers["idempotency-key"] for post in hook.posts} == {"msg_1"}
    assert {post.body for post in hook.posts} == {LETTER.body}


@pytest.mark.parametrize("kind", POSTED)
def test_receiver_that_is_slow_is_given_up_in_time(
    kind: NotifierKind, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "DEADLINE_S", 0.2)
    hook.moods = [Mood(wait_s=1.0)]
    with pytest.raises(UnavailableError, match="no answer within"):
        deliver(kind, hook.url)


@pytest.mark.parametrize("kind", POSTED)
def test_large_answer_is_read_no_further_than_its_beginning(kind: NotifierKind, hook: Receiver) -> None:
    hook.moods = [Mood(500, body=b"x" * 50_000_000)]
    with pytest.raises(UnavailableError) as raised:
        deliver(kind, hook.url)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("kind", POSTED)
def test_what_is_shown_and_logged_has_no_secret(
    kind: NotifierKind, hook: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = address_of(kind, hook.url)
    deliver(kind, hook.url)
    told = CHANNELS[kind].shown(address) + caplog.text
    assert "s3cr3t" not in told
    assert "T0/B0" not in told
    assert CHANNELS[kind].shown(address).endswith("/…abcd")
    assert address.get("key", "whsec_none") not in told


@pytest.mark.parametrize("kind", POSTED)
@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/x",
        "https://127.0.0.1/x",
        "https://10.0.0.7/x",
        "https://192.168.1.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://[64:ff9b::a00:1]/x",
        "https://[fd00::1]/x",
        "https://[fe80::1]/x",
        "https://100.64.0.1/x",
        "https://0.0.0.0/x",
        "https://224.0.0.1/x",
        "https://user:pass@hooks.example.org/x",
        "https:///x",
        "https://hooks.example.org:port/x",
        "ftp://hooks.example.org/x",
        "https://hooks.example.org/x\r\nHost: y",
        "https://hooks.example.org/ x",
        "",
    ],
)
def test_address_that_leads_where_it_should_not_is_refused(kind: NotifierKind, url: str) -> None:
    with pytest.raises(DataError) as raised:
        address_of(kind, url, CLOSED)
    assert url == "" or url not in str(raised.value)


@pytest.mark.parametrize("told", ["10.1.2.3", "127.0.0.1", "169.254.169.254", "::1"])
@pytest.mark.parametrize("kind", POSTED)
def test_name_that_stands_for_a_private_address_is_not_connected_to(
    kind: NotifierKind, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, told)
    with pytest.raises(ReceiverRefusedError, match="private network"):
        deliver(kind, "https://rebound.example.org/x", CLOSED)


def test_connection_is_made_to_the_address_that_was_looked_at(
    hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving(monkeypatch, "127.0.0.1", once=True)
    port = hook.url.split(":")[2].partition("/")[0]
    deliver(NotifierKind.SLACK, f"http://hooks.example.org:{port}/x")
    assert hook.posts[0].headers["host"] == f"hooks.example.org:{port}"


def resolving(monkeypatch: pytest.MonkeyPatch, told: str, *, once: bool = False) -> None:
    """Have every name stand for this address; `once`, and for nothing when somebody asks again."""
    asked = []

    async def getaddrinfo(self, host, port, **_):
        asked.append(host)
        assert not once or asked == [host], "it is looked up once"
        return [(2, 1, 6, "", (told, port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


def test_service_for_one_machine_reaches_that_machine_alone() -> None:
    local = Reach(loopback=True)
    assert address_of(NotifierKind.SLACK, "http://127.0.0.1:9/x", local)
    assert address_of(NotifierKind.SLACK, "http://localhost:9/x", local)
    for url in ("http://10.0.0.1/x", "http://hooks.example.org/x", "https://10.0.0.1/x"):
        with pytest.raises(DataError):
            address_of(NotifierKind.SLACK, url, local)


@pytest.mark.parametrize(
    ("refusal", "error"),
    [("451 later", UnavailableError), ("554 no", ReceiverRefusedError)],
)
def test_mail_server_says_later_or_never(postbox: Postbox, refusal: str, error: type[Exception]) -> None:
    postbox.refusals = [refusal]
    reach = Reach(smtp_url=postbox.url, mail_from=OPEN.mail_from)
    send = CHANNELS[NotifierKind.EMAIL].deliver
    assert send is not None
    with pytest.raises(error) as raised:
        send({"to": "ops@example.org"}, LETTER, reach)
    assert type(raised.value) is error


def test_mail_server_that_is_away_is_tried_again_and_its_password_stays_secret() -> None:
    reach = Reach(smtp_url="smtp+plain://ada:s3cr3t@127.0.0.1:1", mail_from=OPEN.mail_from)
    send = CHANNELS[NotifierKind.EMAIL].deliver
    assert send is not None
    with pytest.raises(UnavailableError) as raised:
        send({"to": "ops@example.org"}, LETTER, reach)
    assert "s3cr3t" not in str(raised.value)


@pytest.mark.parametrize(
    "to",
    ["", "nobody", "a@b", "a@b.org\r\nBcc: c@d.org", "Ada <a@b.org>", "-x@b.org", ",".join(["a@b.org"] * 21)],
)
def test_what_is_no_address_of_a_person_is_refused(to: str) -> None:
    reach = Reach(smtp_url="smtp://mail.example.org")
    with pytest.raises(DataError):
        CHANNELS[NotifierKind.EMAIL].checked({"to": to}, reach)
