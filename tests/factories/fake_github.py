"""A GitHub on loopback that remembers what it is told: pull requests, check runs, statuses, comments; and its moods."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.factories.local_http import listening

APP_ID = "77"
LOGIN = "ratchet-bot"
SLUG = "acme/vision"

Answer = tuple[int, dict[str, str], Any]


@dataclass
class Mood:
    """How the next writes are answered: `status` in place of the effect, or a connection cut after it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: bool = False
    message: str = "not now"
    times: int = 1


class FakeGitHub:
    """What GitHub knows. `calls` are the writes that had an effect: method, path and body.

    The repository has the id 5. It is called `slug` now; asked for by its first name GitHub sends elsewhere, or, where
    that `is_forgotten`, knows nothing; with a `squatter` that name is another repository's, which answers so.
    `counted` are the answers that are counted against an hour's requests, `unchanged` those that are not.
    """

    def __init__(self) -> None:
        self.pulls: dict[int, dict[str, Any]] = {}
        self.check_runs: dict[int, dict[str, Any]] = {}
        self.statuses: list[dict[str, Any]] = []
        self.comments: dict[int, dict[str, Any]] = {}
        self.issues: dict[int, dict[str, Any]] = {}
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.called_at: list[float] = []
        """When each of them came, in seconds since 1970."""
        self.moods: list[Mood] = []
        self.brought: dict[str, list[int]] = {}
        self.slug = SLUG
        self.is_forgotten = False
        self.squatter: dict[str, Any] | None = None
        self.installed = {9}
        self.counted = self.unchanged = 0
        self.asked_again: list[int] = []
        self.is_app = True
        self.writers: set[str] = set()
        self.app: dict[str, Any] = {}
        self.installations: list[dict[str, Any]] = []
        self.hook: dict[str, Any] = {}
        self.sent: list[dict[str, Any]] = []
        self.permissions: dict[str, bool] = {}
        self.url = ""
        self._ids = 1000
        self._lock = threading.Lock()

    def new_id(self) -> int:
        """Return an id that nothing has."""
        self._ids += 1
        return self._ids

    def pull(self, number: int, head: str, base: str, **fields: Any) -> dict[str, Any]:
        """Have a pull request as it is now."""
        fork = fields.pop("fork", False)
        told = {
            "number": number,
            "title": "A change",
            "state": "open",
            "merged": False,
            "merged_at": None,
            "merge_commit_sha": None,
            "user": {"login": "ada"},
            "base": {"ref": "main", "sha": base, "repo": {"id": 5}},
            "head": {"ref": "topic", "sha": head, "repo": {"id": 6 if fork else 5}},
        }
        self.pulls[number] = told | fields
        return self.pulls[number]

    def merge(self, number: int, *shas: str, merged_at: str = "") -> None:
        """Have a pull request merged as these commits of its base, the last of which GitHub calls its merge commit."""
        when = merged_at or datetime.now(UTC).isoformat(timespec="seconds")
        its = {"state": "closed", "merged": True, "merged_at": when, "merge_commit_sha": shas[-1]}
        self.pulls[number] |= its
        for sha in shas:
            self.brought.setdefault(sha, []).append(number)

    def runs_of(self, sha: str) -> list[dict[str, Any]]:
        """Return the check runs of a commit, in the order in which they were made."""
        return [run for run in self.check_runs.values() if run["head_sha"] == sha]

    def handle(self, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[Answer, bool]:
        """Return the answer, and whether the connection is cut in place of it."""
        with self._lock:
            elsewhere = self._elsewhere(method, path)
            if elsewhere is not None:
                return elsewhere, False
            path = path.replace(f"/repos/{self.slug}", f"/repos/{SLUG}", 1)
            mood = self._mood() if method != "GET" and not path.endswith("/access_tokens") else None
            if mood is not None and mood.status:
                return (mood.status, mood.headers, {"message": mood.message}), False
            for pattern, wanted, act in _ROUTES:
                found = re.fullmatch(pattern, path)
                if found and method == wanted:
                    answer = act(self, [*map(_number, found.groups())], query, body or {})
                    if method != "GET" and not path.endswith("/access_tokens"):
                        self.calls.append((method, path, body or {}))
                        self.called_at.append(time.time())
                    return answer, bool(mood and mood.cut_after)
            return (404, {}, {"message": "Not Found"}), False

    def _elsewhere(self, method: str, path: str) -> Answer | None:
        """Return the answer to who asks for the repository by a name that it does not have any more."""
        if self.slug == SLUG or not path.startswith(f"/repos/{SLUG}"):
            return None
        if self.squatter is not None:
            return 200, {}, self.squatter
        if self.is_forgotten:
            return 404, {}, {"message": "Not Found"}
        where = f"{self.url}/repositories/5{path.removeprefix(f'/repos/{SLUG}')}"
        return (301 if method == "GET" else 307), {"location": where}, {"message": "Moved", "url": where}

    def _mood(self) -> Mood | None:
        if not self.moods:
            return None
        mood = self.moods[0]
        mood.times -= 1
        if mood.times <= 0:
            self.moods.pop(0)
        return mood

    @contextmanager
    def serving(self) -> Iterator[FakeGitHub]:
        """Answer on a port of this machine."""
        with listening(_handler(self)) as address:
            self.url = address
            yield self


def _number(text: str) -> Any:
    return int(text) if text.isdigit() else text


def _get_pull(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    pull = github.pulls.get(found[0])
    return (200, {}, pull) if pull else (404, {}, {"message": "Not Found"})


def _list_pulls(github: FakeGitHub, found: list[Any], query: dict[str, list[str]], body: Any) -> Answer:
    page, size = int(query.get("page", ["1"])[0]), int(query.get("per_page", ["30"])[0])
    pulls = [pull for pull in github.pulls.values() if pull["state"] == "open"]
    return 200, {}, pulls[(page - 1) * size : page * size]


def _pulls_of_commit(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    return 200, {}, [github.pulls[number] for number in github.brought.get(str(found[0]), [])]


def _create_run(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    run = {"id": github.new_id(), **body}
    _annotate(run, [])
    github.check_runs[run["id"]] = run
    return 201, {}, run


def _update_run(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] not in github.check_runs:
        return 404, {}, {"message": "Not Found"}
    run = github.check_runs[found[0]]
    if run["status"] == "completed" and (body["status"], body.get("conclusion")) != (
        "completed",
        run["conclusion"],
    ):
        return 422, {}, {"message": "what has ended is not taken up again"}
    earlier = run["output"]["annotations"]
    run |= body
    _annotate(run, earlier)
    return 200, {}, run


def _annotate(run: dict[str, Any], earlier: list[Any]) -> None:
    """Add the annotations that were just sent to those that there are, as GitHub does."""
    notes = [*earlier, *run["output"].get("annotations", [])]
    run["output"] = {**run["output"], "annotations": notes, "annotations_count": len(notes)}


def _get_run(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    run = github.check_runs.get(found[0])
    return (200, {}, run) if run else (404, {}, {"message": "Not Found"})


def _list_runs(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    runs = github.runs_of(str(found[0]))
    return 200, {}, {"total_count": len(runs), "check_runs": runs}


def _create_status(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    status = {"id": github.new_id(), "sha": str(found[0]), **body}
    github.statuses.append(status)
    return 201, {}, status


def _create_comment(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    comment = {"id": github.new_id(), "issue": found[0], "user": {"login": LOGIN}, **body}
    comment["performed_via_github_app"] = {"id": int(APP_ID)} if github.is_app else None
    github.comments[comment["id"]] = comment
    return 201, {}, comment


def _update_comment(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] not in github.comments:
        return 404, {}, {"message": "Not Found"}
    github.comments[found[0]] |= body
    return 200, {}, github.comments[found[0]]


def _list_comments(github: FakeGitHub, found: list[Any], query: dict[str, list[str]], body: Any) -> Answer:
    page, size = int(query.get("page", ["1"])[0]), int(query.get("per_page", ["30"])[0])
    of_pull = [comment for comment in github.comments.values() if comment["issue"] == found[0]]
    return 200, {}, of_pull[(page - 1) * size : page * size]


def _create_issue(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    number = 100 + len(github.issues)
    issue = {"id": github.new_id(), "number": number, "state": "open", "user": {"login": LOGIN}, **body}
    issue["performed_via_github_app"] = {"id": int(APP_ID)} if github.is_app else None
    github.issues[number] = issue
    return 201, {}, issue


def _update_issue(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] not in github.issues:
        return 404, {}, {"message": "Not Found"}
    github.issues[found[0]] |= body
    return 200, {}, github.issues[found[0]]


def _list_issues(github: FakeGitHub, found: list[Any], query: dict[str, list[str]], body: Any) -> Answer:
    page, size = int(query.get("page", ["1"])[0]), int(query.get("per_page", ["30"])[0])
    its = [
        issue for issue in github.issues.values() if query.get("state") == ["all"] or issue["state"] == "open"
    ]
    return 200, {}, its[(page - 1) * size : page * size]


def _permission(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    return 200, {}, {"permission": "write" if found[0] in github.writers else "read"}


def _user(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    return 200, {}, {"login": LOGIN, "id": 1}


def _repository(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] != 5:
        return 404, {}, {"message": "Not Found"}
    return 200, {}, {"id": 5, "full_name": github.slug, "default_branch": "main"}


def _deliveries(github: FakeGitHub, found: list[Any], query: dict[str, list[str]], body: Any) -> Answer:
    begin, size = int(query.get("cursor", ["0"])[0]), int(query.get("per_page", ["30"])[0])
    sent = github.sent
    if query.get("status") == ["failure"]:
        sent = [tried for tried in sent if tried["status_code"] >= 300]
    end = begin + size
    link = {"link": f'<{github.url}/app/hook/deliveries?cursor={end}>; rel="next"'} if end < len(sent) else {}
    return 200, link, sent[begin:end]


def _deliver_again(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    github.asked_again.append(found[0])
    return 202, {}, {}


def _token(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] not in github.installed:
        return 404, {}, {"message": "Not Found"}
    return (
        201,
        {},
        {"token": "ghs_secret", "expires_at": "2099-01-01T00:00:00Z", "permissions": {"contents": "read"}},
    )


def _create_app(github: FakeGitHub, found: list[Any], query: Any, body: Any) -> Answer:
    if found[0] != "c0de":
        return 404, {}, {"message": "Not Found"}
    page = f"{github.url}/apps/ratchet"
    told = {
        "id": int(APP_ID),
        "name": "Ratchet <b>",
        "html_url": page,
        "pem": "a key\n",
        "webhook_secret": "s3cret",
        "client_id": "Iv1.0",
        "client_secret": "an0ther",
    }
    return 201, {}, told


_Act = Callable[[FakeGitHub, list[Any], dict[str, list[str]], Any], Answer]
_R = r"/repos/acme/vision"
_ROUTES: list[tuple[str, str, _Act]] = [
    (rf"{_R}/pulls", "GET", _list_pulls),
    (rf"{_R}/pulls/(\d+)", "GET", _get_pull),
    (rf"{_R}/check-runs", "POST", _create_run),
    (rf"{_R}/check-runs/(\d+)", "PATCH", _update_run),
    (rf"{_R}/check-runs/(\d+)", "GET", _get_run),
    (rf"{_R}/commits/(\w+)/check-runs", "GET", _list_runs),
    (rf"{_R}/commits/(\w+)/pulls", "GET", _pulls_of_commit),
    (rf"{_R}/statuses/(\w+)", "POST", _create_status),
    (rf"{_R}/issues", "POST", _create_issue),
    (rf"{_R}/issues", "GET", _list_issues),
    (rf"{_R}/issues/(\d+)", "PATCH", _update_issue),
    (rf"{_R}/issues/(\d+)/comments", "POST", _create_comment),
    (rf"{_R}/issues/(\d+)/comments", "GET", _list_comments),
    (rf"{_R}/issues/comments/(\d+)", "PATCH", _update_comment),
    (rf"{_R}/collaborators/(\w+)/permission", "GET", _permission),
    (r"/user", "GET", _user),
    (r"/app-manifests/(\w+)/conversions", "POST", _create_app),
    (_R, "GET", lambda github, *_: (200, {}, {"permissions": github.permissions})),
    (r"/app", "GET", lambda github, *_: (200, {}, github.app)),
    (r"/app/installations", "GET", lambda github, *_: (200, {}, github.installations)),
    (r"/app/hook/config", "GET", lambda github, *_: (200, {}, github.hook)),
    (r"/app/hook/deliveries", "GET", _deliveries),
    (r"/app/hook/deliveries/(\d+)/attempts", "POST", _deliver_again),
    (r"/repositories/(\d+)", "GET", _repository),
    (r"/app/installations/(\d+)/access_tokens", "POST", _token),
]


def _handler(github: FakeGitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            place = urlsplit(self.path)
            (status, headers, told), is_cut = github.handle(
                self.command, place.path, parse_qs(place.query), body
            )
            if is_cut:  # a reset, and no answer
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            raw = json.dumps(told).encode()
            if self.command == "GET" and status == 200:
                headers = {"etag": f'"{hashlib.sha256(raw).hexdigest()}"', **headers}
                if self.headers.get("if-none-match") == headers["etag"]:
                    github.unchanged += 1
                    status, raw = 304, b""
                else:
                    github.counted += 1
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PATCH = _any  # noqa: N815  # the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
