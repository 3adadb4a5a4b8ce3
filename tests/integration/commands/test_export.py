"""`ratchet export`: histories as lines that an empty service takes, and gives back byte for byte."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, text

from app.cli import DATA, FAULT, USAGE, run
from app.commands.progress_line import ProgressLine
from app.formats.exported import read_end
from app.formats.imported import documents
from app.integrations.service_client import ServiceClient
from app.services import export_results
from app.services.access import Scope, issue_token
from app.services.publish import publish_run
from app.store.tables import Run, Sample, Series
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import sha
from tests.factories.posted_results import posted_document, posted_result
from tests.factories.serving import served
from tests.integration.conftest import wipe

pytestmark = pytest.mark.postgres

PROJECT = "acme/vision"
ODD = [0.1, 1 / 3, 5e-324, 1e290, 0.30000000000000004, 7]


class World:
    """A service on a port, the commands' environment, and files."""

    def __init__(self, service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
        self.service, self.folder, self.monkeypatch = service, folder, monkeypatch
        self.address, self.client = address, ServiceClient(address, None)
        self.monkeypatch.setenv("RATCHET_URL", address)
        self.sign_in()

    def sign_in(self) -> None:
        with self.service.database.session() as session:
            token = issue_token(session, "admin", [Scope.ADMIN])
        self.monkeypatch.setenv("RATCHET_TOKEN", token)
        self.client.close()
        self.client = ServiceClient(self.address, token, patience_s=0)

    def post(self, *posted: dict[str, Any]) -> None:
        told = self.client.post_batch([json.dumps(one).encode() for one in posted])
        assert [one["status"] for one in told["documents"]] == ["stored"] * len(posted)

    def export(self, *options: str) -> list[dict[str, Any]]:
        path = self.folder / "out.jsonl"
        assert run(["export", "--project", PROJECT, "--out", str(path), *options]) == 0
        return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def world(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with served(service) as address:
        its = World(service, tmp_path, monkeypatch, address)
        yield its
        its.client.close()


def history() -> list[dict[str, Any]]:
    """Documents of two branches and devices, with all that a commit and a result may tell."""
    told = {
        "parent": sha(0), "time": "2024-02-29T23:59:59.123456+05:30", "author": "Ada שלום", "subject": "<b>`x`</b> 🚀",
        "position": 1, "measured_at": "2024-03-01T00:00:00Z", "environment": {"b": 1.0, "a": {"c": [1e5, None]}},
    }  # fmt: skip
    kept = posted_result(values=ODD, unit="GiB", metric="m", version="file-7")
    summary = posted_result("sum", [2.0], low=1.5, high=2.25, params={"z": 1.0, "a": "x", "n": None})
    return [
        posted_document(kept, summary, posted_result(), commit=sha(1), **told),
        posted_document(commit=sha(1), **told | {"device_class": "gpu"}),
        posted_document(commit=sha(0), measured_at="2024-02-28T00:00:00+01:00"),
        posted_document(commit=sha(2), branch="release", parent=sha(1)),
        posted_document(posted_result(version="file-8"), commit=sha(3), branch=None),
    ]


def measure(service: Service) -> None:
    """Have a worker's run of a check published, some of its values void."""
    with service.database.session() as session:
        old = session.scalar(select(func.max(Series.id)))
        check = results.regressed()
        stored.check(session, results.check(None, *check.suites, project=PROJECT))
        for one in session.scalars(select(Run)).all():
            publish_run(session, one)
        session.execute(text("update series set version = 'file-1' where id > :old"), {"old": old})
        assert any(session.scalars(select(Sample.void)))


def test_what_an_empty_service_imports_it_exports_byte_for_byte(world: World) -> None:
    world.post(*history())
    measure(world.service)
    world.monkeypatch.setattr(export_results, "_RUNS_AT_ONCE", 2)
    first, again = world.folder / "first.jsonl", world.folder / "again.jsonl"
    assert run(["export", "--project", PROJECT, "--out", str(first)]) == 0
    wipe(world.service.database)
    world.sign_in()
    assert run(["import", str(first), "--project", PROJECT]) == 0
    assert run(["export", "--project", PROJECT, "--out", str(again)]) == 0
    assert again.read_bytes() == first.read_bytes()
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    assert [line["commit"] for line in lines[:3]] == [sha(0), sha(1), sha(1)]
    assert [line["measured_at"] for line in lines] == sorted(line["measured_at"] for line in lines)
    told = lines[1]
    assert told["results"][0]["values"] == [value * 2**30 for value in map(float, ODD)]
    assert (told["results"][0]["version"], told["results"][1]["low"]) == ("file-7", 0.0015)
    assert (told["author"], told["subject"], told["position"]) == ("Ada שלום", "<b>`x`</b> 🚀", 1)
    measured = [line for line in lines if "machine" in line["environment"]]
    assert {line["commit"] for line in measured} == {results.regressed().base.sha}
    assert {one["version"] for line in measured for one in line["results"]} == {"file-1"}


def test_large_run_is_split_as_an_import_takes_it(world: World) -> None:
    world.monkeypatch.setattr(export_results, "MOST_RESULTS", 2)
    world.monkeypatch.setattr(documents, "MOST_RESULTS", 2)
    world.post(posted_document(*(posted_result(f"b{i}") for i in range(5))))
    assert [[one["benchmark"] for one in line["results"]] for line in world.export()] == [
        ["b0", "b1"], ["b2", "b3"], ["b4"],
    ]  # fmt: skip


def test_export_is_narrowed_by_benchmark_and_time_of_measurement(world: World) -> None:
    world.post(*history())
    (only,) = world.export("--benchmark", "sum")
    assert [one["benchmark"] for one in only["results"]] == ["sum"]
    assert [line["commit"] for line in world.export("--until", "2024-03-01")] == [sha(0)]
    assert [line["commit"] for line in world.export("--since", "1d")] == [sha(2), sha(3)]
    assert world.export("--benchmark", "nothing") == []


def test_answer_ends_with_a_line_that_tells_a_whole_one(
    world: World, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    world.post(*history())
    assert run(["export", "--project", PROJECT]) == 0
    printed = capsysbinary.readouterr().out
    with world.client.export({"project": PROJECT}) as lines:
        *whole, last = lines
    assert b"".join(whole) == printed
    end = read_end(last)
    assert end is not None
    assert (end["end"]["documents"], end["end"]["results"]) == (5, 7)
    path = world.folder / "answer.jsonl"
    path.write_bytes(printed + last)
    assert run(["import", str(path), "--project", "acme/other"]) == 0


def test_export_that_breaks_off_leaves_the_file_as_it_was(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.post(*history())
    world.monkeypatch.setattr(export_results, "_RUNS_AT_ONCE", 1)
    world.export("--benchmark", "sum")
    path = world.folder / "out.jsonl"
    before, left = path.read_bytes(), sorted(world.folder.iterdir())
    documents_of = export_results._documents

    def dies(session: Any, project: str, wish: Any, runs: Any) -> Any:
        if runs[0].sha == sha(2):
            raise RuntimeError("the disk is gone")
        return documents_of(session, project, wish, runs)

    world.monkeypatch.setattr(export_results, "_documents", dies)
    assert run(["export", "--project", PROJECT, "--out", str(path)]) == FAULT
    assert path.read_bytes() == before
    parts = [path.with_name("out.jsonl.part"), path.with_name("out.jsonl.part.state")]
    assert sorted(world.folder.iterdir()) == sorted([*left, *parts])
    assert "3 runs are kept in" in capsys.readouterr().err


def test_what_cannot_be_exported_is_said(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--project", "acme/nope"]) == DATA
    assert "no project 'acme/nope'" in capsys.readouterr().err
    assert run(["export", "--project", "p", "--since", "soon"]) == USAGE
    assert "2026-01-31" in capsys.readouterr().err
    url = world.client.url
    assert httpx.get(f"{url}/api/v1/export", params={"project": PROJECT}).status_code == 401


def test_a_device_is_not_replaced_by_a_file(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = world.folder / "pipe"
    os.mkfifo(pipe)
    assert run(["export", "--project", PROJECT, "--out", str(pipe)]) == USAGE
    assert "pipe is no file" in capsys.readouterr().err
    assert pipe.is_fifo()


def test_progress_is_one_line_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    line = ProgressLine()
    line.tell("1 of 2")
    line.tell("2 of 2", is_last=True)
    assert capsys.readouterr().err == "\r\x1b[2K2 of 2\n"
