"""A real Prometheus and exporters in dcgm-exporter's form, all on loopback; the exporters follow a script."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from itertools import groupby
from pathlib import Path

import pytest

from tests.factories.local_http import listening
from tests.factories.own_metrics import Series
from workers.keeper import Kept

READY_WITHIN_S = 20.0
LISTENING = re.compile(r'Listening on" .*?address=127\.0\.0\.1:(\d+)')
READY = "ready to receive web requests"

Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serving(answer: Callable[[str], Answer | None]) -> Iterator[str]:
    """Serve answers by path on loopback and give the address; None closes without a word."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = answer(self.path)
            if given is None:
                self.close_connection = True
                return
            status, headers, body = given
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with listening(Handler) as address:
        yield address


class Exporter:
    """Tells what a script says so many seconds after it began; before, it tells nothing."""

    def __init__(self, script: Callable[[float], str]) -> None:
        self.began: float | None = None
        self.was_scraped = threading.Event()
        self._script = script

    def __call__(self, path: str) -> Answer:
        self.was_scraped.set()
        told = "" if self.began is None else self._script(time.time() - self.began)
        return 200, {"Content-Type": "text/plain; version=0.0.4"}, told.encode()


def begin(*exporters: Exporter) -> float:
    """Wait until each is scraped, which Prometheus begins some seconds after it is ready; begin all scripts."""
    assert all(exporter.was_scraped.wait(READY_WITHIN_S) for exporter in exporters)
    began = time.time()
    for exporter in exporters:
        exporter.began = began
    return began


@contextmanager
def prometheus(folder: Path, config: str, web: str = "") -> Iterator[tuple[int, Kept]]:
    """Run Prometheus with this configuration; give its port when it is ready, and its process."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not on PATH")
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(config)
    (folder / "web.yml").write_text(web)
    command = [
        "prometheus",
        "--config.file=prometheus.yml",
        "--web.config.file=web.yml",
        "--storage.tsdb.path=data",
        "--web.listen-address=127.0.0.1:0",
    ]
    log = folder / "log"
    with log.open("wb") as file, Kept(command, cwd=folder, stdout=file, stderr=file, grace_s=5) as process:
        yield _port(log, process), process


def openmetrics(
    series: Iterable[Series], began: datetime, lasts: timedelta, every: timedelta
) -> Iterator[str]:
    """Tell a script in OpenMetrics' text format, with the time of each sample."""
    moments = [n * every.total_seconds() for n in range(int(lasts / every) + 1)]
    for name, family in groupby(sorted(series, key=lambda one: one.name), key=lambda one: one.name):
        yield f"# TYPE {name} unknown\n"
        for one in family:
            inside = ",".join(f'{label}="{value}"' for label, value in one.labels.items())
            for moment in moments:
                value = one.value(moment)
                if value is not None:
                    yield f"{name}{{{inside}}} {value:.17g} {began.timestamp() + moment:.3f}\n"
    yield "# EOF\n"


@contextmanager
def remembering(
    folder: Path, series: Iterable[Series], began: datetime, lasts: timedelta, every: timedelta
) -> Iterator[str]:
    """Run a Prometheus that has recorded a script of the past; give its address."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not on PATH")
    folder.mkdir(exist_ok=True)
    told = folder / "script.om"
    with told.open("w") as file:
        file.writelines(openmetrics(series, began, lasts, every))
    make = ["promtool", "tsdb", "create-blocks-from", "openmetrics", told.name, "data"]
    done = subprocess.run(make, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    with prometheus(folder, "scrape_configs: []") as (port, _):
        yield f"http://127.0.0.1:{port}"


def _port(log: Path, process: Kept) -> int:
    give_up_at = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < give_up_at and process.poll() is None:
        said = log.read_text(errors="replace")
        if READY in said:
            found = LISTENING.search(said)
            assert found is not None, said
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"Prometheus did not come up: {log.read_text(errors='replace')[-2000:]}")


def scraping(**jobs: tuple[str, str]) -> str:
    """Return a configuration that scrapes each job's address at its interval."""
    lines = ["scrape_configs:"]
    for name, (address, interval) in jobs.items():
        host = address.removeprefix("http://")
        lines += [
            f"- job_name: {name}",
            f"  scrape_interval: {interval}",
            f"  scrape_timeout: {interval}",
            f"  static_configs: [{{targets: ['{host}']}}]",
        ]
    return "\n".join(lines)


def exposition(labels: dict[str, str], **fields: float) -> str:
    """Return one line a field in Prometheus' text format."""
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return "".join(f"{name}{{{inside}}} {value}\n" for name, value in fields.items())
