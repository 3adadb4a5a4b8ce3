"""A year of a project's histories: a commit a day, measured on two device classes, with what one should find in it.

Posted by the door that programs use, a line a commit and device class, dated back to the day of the commit, and
examined as the tasks do it. The same each time but for the days.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi.testclient import TestClient

from app.services.alerts.raise_alerts import projects_to_look_at, raise_alerts
from app.services.alerts.settle_alerts import settle_alerts
from app.wiring import Service
from tests.factories.histories import PROJECT, deliver

DAYS = 365
DEVICES = ("cpu-xeon-8t", "nvidia-l4")
PEOPLE = ("Ada Lovelace", "Grace Hopper", "Alan Turing")
LEVELS_MS = {"resize": 12.0, "decode": 30.0, "crop": 4.0, "normalise": 2.5}
N_VALUES = 10


@dataclass(frozen=True)
class Planted:
    """A commit from which on a benchmark takes `by` more, on these device classes."""

    at: int
    benchmark: str
    by: float
    devices: tuple[str, ...]
    author: str
    subject: str


EVERYWHERE = Planted(345, "resize", 0.15, DEVICES, "Grace Hopper", "Resize in one pass over the rows")
ON_ONE = Planted(355, "decode", 0.10, DEVICES[1:], "Alan Turing", "Decode exactly as the standard says")
IN_SPRING = Planted(120, "decode", -0.2, DEVICES, "Ada Lovelace", "Decode four blocks at once")
LONG_AGO = Planted(60, "normalise", 0.12, DEVICES[:1], "Ada Lovelace", "Normalise in double precision")
PLANTED = (EVERYWHERE, ON_ONE, IN_SPRING, LONG_AGO)
OUTLIER = (200, "crop")
"""One commit of one benchmark was measured half as slow again; nothing had changed."""

DRIVER_AT = 345
"""The commit from which on the driver of one device class is another."""


def sha(at: int) -> str:
    """Return the id of the year's commit `at`, counted from 0; no two begin alike."""
    return hashlib.sha1(f"commit {at}".encode(), usedforsecurity=False).hexdigest()


def plant_a_year(client: TestClient, service: Service, token: str) -> None:
    """Post the year, have it examined, and have alerts raised of it."""
    lines = (json.dumps(document) for document in _documents())
    answer = client.post(
        "/api/v1/results/batch",
        content="\n".join(lines).encode(),
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 200, answer.text
    deliver(service)
    with service.database.session() as session:
        for project_id in projects_to_look_at(session):
            raise_alerts(session, project_id)
            settle_alerts(session, project_id)


def _documents() -> list[dict[str, Any]]:
    draw = random.Random(7)
    newest = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=6)
    return [
        _document(draw, at, device, newest - timedelta(days=DAYS - 1 - at))
        for at in range(DAYS)
        for device in DEVICES
    ]


def _document(draw: random.Random, at: int, device: str, day: datetime) -> dict[str, Any]:
    author, subject = _told_of(at)
    return {
        "project": PROJECT,
        "commit": sha(at),
        **({"parent": sha(at - 1)} if at else {}),
        "position": at + 1,
        "branch": "main",
        "time": day.isoformat(),
        "measured_at": (day + timedelta(hours=1)).isoformat(),
        "author": author,
        "subject": subject,
        "device_class": device,
        "environment": {"kernel": "6.8.0", "driver": "550.2" if at >= DRIVER_AT else "550.1"},
        "results": [_result(draw, at, benchmark, device) for benchmark in LEVELS_MS],
    }


def _told_of(at: int) -> tuple[str, str]:
    planted = next((its for its in PLANTED if its.at == at), None)
    return (planted.author, planted.subject) if planted else (PEOPLE[at % 3], f"Tidy up part {at}")


def _result(draw: random.Random, at: int, benchmark: str, device: str) -> dict[str, Any]:
    level = LEVELS_MS[benchmark] * (0.5 if device == DEVICES[1] else 1)
    for its in PLANTED:
        if its.benchmark == benchmark and device in its.devices and at >= its.at:
            level *= 1 + its.by
    if (at, benchmark) == OUTLIER:
        level *= 1.5
    level *= draw.lognormvariate(0, 0.008)
    return {
        "benchmark": benchmark,
        "params": {"batch": 8},
        "metric": "latency_p50",
        "unit": "ms",
        "better": "lower",
        "values": [level * draw.lognormvariate(0, 0.004) for _ in range(N_VALUES)],
    }
