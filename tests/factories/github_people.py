"""The people of a GitHub on loopback: its page that asks them, codes, tokens, who they are, and its moods."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.factories.local_http import listening

CLIENT_ID, CLIENT_SECRET = "Iv1.0123456789abcdef", "the secret of the app"

Said = tuple[int, dict[str, str], bytes]


@dataclass
class Somebody:
    """A person with an account; `organizations` are those that they are in, by the state of that."""

    id: int
    organizations: dict[str, str] = field(default_factory=dict)
    kind: str = "User"


class GitHubPeople:
    """What GitHub knows of people; `here` is who is signed in there with the browser that comes.

    `moods` are answers in place of the right one, by path, and `slow_s` is how long each answer takes. `tokens` has all
    that were given out, `asked` path and headers of each request, `scopes` what was asked for on its page.
    """

    def __init__(self) -> None:
        self.people: dict[str, Somebody] = {}
        self.here = ""
        self.allows = True
        self.moods: dict[str, Said] = {}
        self.slow_s = 0.0
        self.tokens: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.scopes: list[str] = []
        self.url = ""
        self._codes: dict[str, dict[str, str]] = {}

    def person(self, login: str, number: int, **organizations: str) -> Somebody:
        """Have somebody who is signed in with the browser that comes next."""
        self.people[login] = Somebody(number, organizations)
        self.here = login
        return self.people[login]

    def answer(self, method: str, target: str, headers: dict[str, str], body: str) -> Said:
        """Return status, headers and body for a request."""
        place = urlsplit(target)
        self.asked.append((place.path, headers))
        time.sleep(self.slow_s)
        if place.path in self.moods:
            return self.moods[place.path]
        if place.path == "/login/oauth/authorize":
            return self._authorize(dict(parse_qsl(place.query)))
        if place.path == "/login/oauth/access_token" and method == "POST":
            return _json(200, self._token(dict(parse_qsl(body))))
        if place.path.startswith("/api/v3/users/"):
            return self._one(place.path.rpartition("/")[2])
        login = self.tokens.get(headers.get("authorization", "").removeprefix("Bearer "))
        if login is None:
            return _json(401, {"message": "Bad credentials"})
        if place.path == "/api/v3/user":
            return self._one(login)
        if place.path.startswith("/api/v3/user/memberships/orgs/"):
            state = self.people[login].organizations.get(place.path.rpartition("/")[2])
            return _json(200, {"state": state}) if state else _json(404, {"message": "Not Found"})
        return _json(404, {"message": "Not Found"})

    def _authorize(self, asked: dict[str, str]) -> Said:
        self.scopes.append(asked.get("scope", ""))
        back = {"state": asked["state"]}
        if asked["client_id"] != CLIENT_ID:
            return _json(404, {"message": "Not Found"})
        if self.allows:
            back["code"] = f"c0de-{len(self.asked)}"
            self._codes[back["code"]] = {**asked, "login": self.here}
        else:
            back["error"] = "access_denied"
        return 302, {"location": f"{asked['redirect_uri']}?{urlencode(back)}"}, b""

    def _token(self, shown: dict[str, str]) -> dict[str, str]:
        if (shown["client_id"], shown["client_secret"]) != (CLIENT_ID, CLIENT_SECRET):
            return {"error": "incorrect_client_credentials", "error_description": "They are wrong."}
        known = self._codes.pop(shown["code"], None)
        digest = hashlib.sha256(shown["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        wanted = known and (known["code_challenge_method"], known["code_challenge"], known["redirect_uri"])
        if known is None or wanted != ("S256", proof, shown["redirect_uri"]):
            return {"error": "bad_verification_code", "error_description": "It is incorrect or expired."}
        token = f"gho_{len(self.tokens):036d}"
        self.tokens[token] = known["login"]
        return {"access_token": token, "token_type": "bearer", "scope": known.get("scope", "")}

    def _one(self, login: str) -> Said:
        its = self.people.get(login)
        if its is None:
            return _json(404, {"message": "Not Found"})
        return _json(200, {"id": its.id, "login": login, "type": its.kind, "name": "<b>Somebody</b>"})

    @contextmanager
    def serving(self) -> Iterator[GitHubPeople]:
        """Answer on a port of this machine."""
        with listening(_handler(self)) as address:
            self.url = address
            yield self


def said(status: int, body: bytes = b"", **headers: str) -> Said:
    """An answer of GitHub's in some mood."""
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, body


def _json(status: int, told: Any) -> Said:
    return status, {"content-type": "application/json"}, json.dumps(told).encode()


def _handler(github: GitHubPeople) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, more, raw = github.answer(self.command, self.path, headers, body)
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            with suppress(OSError):  # whoever asked reads no more of it
                self.wfile.write(raw)

        do_GET = do_POST = _any  # noqa: N815  # the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
