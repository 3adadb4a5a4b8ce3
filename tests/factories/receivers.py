"""Receivers of notifications on loopback that remember what they are told: webhook and mail server."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.factories.local_http import listening


@dataclass
class Mood:
    """How the next posts are answered. `cut` drops the connection in place of the answer, once the body was read."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    wait_s: float = 0.0
    cut: bool = False
    times: int = 1


@dataclass
class Post:
    """A post that came."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.body)
        return told


class Receiver:
    """A program that takes posts; `posts` are all that came, whatever they were answered."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.moods: list[Mood] = []
        self.url = ""
        self._lock = threading.Lock()

    def take(self, post: Post) -> Mood:
        with self._lock:
            self.posts.append(post)
            if not self.moods:
                return Mood()
            mood = self.moods[0]
            mood.times -= 1
            if mood.times <= 0:
                self.moods.pop(0)
            return mood

    @contextmanager
    def serving(self) -> Iterator[Receiver]:
        with listening(_handler(self)) as address:
            self.url = f"{address}/services/T0/B0/s3cr3t-abcd"
            yield self


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            its_headers = {name.lower(): value for name, value in self.headers.items()}
            mood = receiver.take(Post(self.path, its_headers, body, time.time()))
            time.sleep(mood.wait_s)
            if mood.cut:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            try:
                self.send_response(mood.status)
                for name, value in mood.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(mood.body)))
                self.end_headers()
                self.wfile.write(mood.body)
            except OSError:  # whoever posted does not wait any more
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


class Postbox:
    """A mail server; `mails` are those that it took, `refusals` the answers to the next ones in place of that.

    `of_senders` are the answers to the next senders, in place of taking them, `of_receivers` those to each receiver.
    It thinks so long about each receiver and, once it has the mail, about its answer [s].
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.envelopes: list[tuple[str, list[str]]] = []
        self.refusals: list[str] = []
        self.of_senders: list[str] = []
        self.of_receivers: dict[str, list[str]] = {}
        self.wait_s = self.wait_end_s = 0.0
        self.url = ""

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.of_senders:
            return self.of_senders.pop(0)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        await asyncio.sleep(self.wait_s)
        if self.of_receivers.get(address):
            return self.of_receivers[address].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refusals:
            return self.refusals.pop(0)
        mail = message_from_bytes(envelope.original_content or b"", policy=default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.envelopes.append((str(envelope.mail_from), list(envelope.rcpt_tos)))
        await asyncio.sleep(self.wait_end_s)
        return "250 OK"

    @contextmanager
    def serving(self, **options: Any) -> Iterator[Postbox]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        controller = Controller(self, hostname="127.0.0.1", port=port, **options)
        controller.start()
        self.url = f"smtp+plain://127.0.0.1:{port}"
        try:
            yield self
        finally:
            controller.stop()


def text_of(mail: EmailMessage, kind: str) -> str:
    """Return the part of a mail of this kind, `plain` or `html`."""
    part = mail.get_body(preferencelist=(kind,))
    assert part is not None
    return str(part.get_content())
