"""From the request for a check to an agent's lease, on an idle service: by the broker's hint, end to end.

The agent is simulated and the repository does not exist, so each job ends at once at its check-out. Timed is, by the
database's clock, from the row of the job to the row of its lease; the first checks wait for processes that still
start, and do not count.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import httpx

from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running

CHECKS, WARM_UP = 60, 5
SETTINGS = """
[project]
name = "bench/claims"

[[suite]]
name = "s"
benchmarks = "bench_*.py"
"""


def figures() -> Iterator[Figure]:
    """Yield median and 99th percentile of submit to claimed."""
    with data_folder() as folder:
        script = folder / "devices.json"
        script.write_text(json.dumps([{"class": "sim", "hardware_id": f"sim-{time.time_ns()}"}]))
        env = {"RATCHET_SIMULATED": str(script), "RATCHET_WORKER_KIND": "simulated"}
        with running(folder / "data", env=env) as (url, token, _):
            waits = _waits_ms(url, token, folder)
    yield Figure(f"submit to claimed, median of {CHECKS}", median(waits), 50, "ms")
    yield Figure(f"submit to claimed, p99 of {CHECKS}", quantiles(waits, n=100)[98], 250, "ms")


def _waits_ms(url: str, token: str, folder: Path) -> list[float]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        return [_one_ms(client, folder, number) for number in range(WARM_UP + CHECKS)][WARM_UP:]


def _one_ms(client: httpx.Client, folder: Path, number: int) -> float:
    body = {
        "settings": SETTINGS,
        "source": {"kind": "git", "location": str(folder / "no-such-repository")},
        "base": {"sha": f"{2 * number:040x}"},
        "head": {"sha": f"{2 * number + 1:040x}"},
    }
    document = client.post("/api/v1/checks", json=body).raise_for_status().json()
    path, seen = f"/api/v1/checks/{document['check']}/progress", ""
    while document["jobs"][0]["attempts"] == 0:
        document = client.get(path, params={"wait": 5, "seen": seen}).json()
        seen = document["version"]
    waited: float = 1000 * document["jobs"][0]["claimed_after_s"]
    client.post(f"/api/v1/checks/{document['check']}/cancel").raise_for_status()
    while document["state"] != "complete":
        document = client.get(f"/api/v1/checks/{document['check']}/progress", params={"wait": 1}).json()
    time.sleep(0.05)
    return waited
