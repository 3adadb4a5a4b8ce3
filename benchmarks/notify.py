"""How long after an alert somebody is told of it: histories that become worse are posted to a whole `ratchet up`.

The time is from the alert's own, when the sweep opened it, to the post at a webhook on the same machine: what is
looked at, the window in which alerts are put together, the message, the way there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from statistics import median

import httpx

from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running
from tests.factories.histories import sha, stepped
from tests.factories.posted_results import posted_document, posted_result
from tests.factories.receivers import Receiver

PROJECTS, POINTS, CASES = 8, 60, 40
PATIENCE_S = 120.0
LIMIT_S = 10.0


def figures() -> Iterator[Figure]:
    """Yield median and maximum over projects, and how many messages were sent of each alert."""
    with (
        data_folder() as folder,
        Receiver().serving() as hook,
        running(folder / "data", "--worker", "none") as (url, token, _pid),
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
    ):
        waits = [_told_after_s(client, hook, number) for number in range(PROJECTS)]
        time.sleep(15)  # two more sweeps: whatever is said twice has been said by then
        posts = [post.json["data"] for post in hook.posts]
    told = sum(len(post["alerts"]) + post["more"] for post in posts)
    yield Figure("alert to webhook, median", median(waits), LIMIT_S, "s")
    yield Figure("alert to webhook, slowest", max(waits), LIMIT_S, "s")
    yield Figure(f"messages an alert of {CASES} changes", told / PROJECTS, 1, "")


def _told_after_s(client: httpx.Client, hook: Receiver, number: int) -> float:
    """Have a project become worse in many series at one commit, and return when its alert was told of [s]."""
    project = f"bench/notify-{number}"
    _post(client, project, 0, 1)
    at = f"/api/v1/projects/{project}/notifiers"
    wanted = {"name": "hook", "kind": "webhook", "address": {"url": hook.url}}
    client.post(at, json=wanted).raise_for_status()
    _post(client, project, 1, POINTS)
    give_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_at:
        for post in list(hook.posts):
            data = post.json["data"]
            if data["project"] == project:
                opened_at = datetime.fromisoformat(data["alerts"][0]["opened_at"])
                return post.at - opened_at.timestamp()
        time.sleep(0.05)
    raise RuntimeError(f"nobody was told of {project} within {PATIENCE_S:g} s")


def _post(client: httpx.Client, project: str, first: int, last: int) -> None:
    histories = [stepped(POINTS, 30, 0.3, seed=case) for case in range(CASES)]
    documents = []
    for commit in range(first, last):
        told = [posted_result(f"case_{case}", [its[commit]]) for case, its in enumerate(histories)]
        parent = {"parent": sha(commit - 1)} if commit else {}
        documents.append(posted_document(*told, project=project, commit=sha(commit), **parent))
    body = b"\n".join(json.dumps(document).encode() for document in documents)
    packed = {"Content-Type": "application/x-ndjson"}
    client.post("/api/v1/results/batch", content=body, headers=packed).raise_for_status()
