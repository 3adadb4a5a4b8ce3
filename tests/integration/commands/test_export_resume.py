"""`ratchet export` that breaks off: what came is kept, and `--resume` ends with the bytes of one that did not."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.cli import DATA, FAULT, INTERRUPTED, USAGE, run
from app.commands.export_file import ExportFile
from app.formats.exported import read_end, read_mark
from app.services import export_results
from app.wiring import Service
from tests.factories.cutting import Network, network
from tests.factories.histories import sha
from tests.factories.posted_results import posted_document, posted_result
from tests.factories.serving import served
from tests.integration.commands.test_export import PROJECT, World, history

pytestmark = pytest.mark.postgres

N = 12
TIME = "2024-03-05T00:00:00Z"


class Cut(World):
    """The world behind a network that may give up, with a service that marks every run."""

    def __init__(self, net: Network, *rest: Any) -> None:
        super().__init__(*rest, net.address)
        self.net = net
        self.monkeypatch.setattr(export_results, "_RUNS_AT_ONCE", 1)
        self.out = self.folder / "out.jsonl"
        self.part, self.state = self.folder / "out.jsonl.part", self.folder / "out.jsonl.part.state"
        same = [
            posted_document(posted_result(values=[i]), commit=sha(9), measured_at=TIME) for i in range(1, 4)
        ]
        draw = random.Random(1)  # an answer is packed: nothing of it goes out before it is some kB
        values = [[draw.random() for _ in range(400)] for _ in range(N)]
        later = [
            posted_document(posted_result(values=some), commit=sha(10 + i), measured_at=TIME)
            for i, some in enumerate(values)
        ]
        self.post(*history(), *same, *later)

    def call(self, *options: str) -> int:
        return run(["export", "--project", PROJECT, "--out", str(self.out), *options])

    def whole(self, *options: str) -> bytes:
        """What an export gives that nothing disturbs."""
        path = self.folder / "whole.jsonl"
        assert run(["export", "--project", PROJECT, "--out", str(path), *options]) == 0
        return path.read_bytes()

    def cut_off(self, share: float, *options: str) -> None:
        """Have an export break off after about this share of it."""
        self.whole(*options)
        self.net.left = int(share * self.net.passed)
        assert self.call(*options) == FAULT
        self.net.left = None

    def answer(self, **wanted: Any) -> httpx.Response:
        token = {"Authorization": f"Bearer {os.environ['RATCHET_TOKEN']}"}
        return httpx.get(
            f"{self.address}/api/v1/export", params={"project": PROJECT, **wanted}, headers=token
        )


@pytest.fixture
def world(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cut]:
    with served(service) as address, network(address) as net:
        its = Cut(net, service, tmp_path, monkeypatch)
        yield its
        its.client.close()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_export_that_was_cut_off_goes_on_and_ends_with_the_same_bytes(
    world: Cut, capsys: pytest.CaptureFixture[str], share: float
) -> None:
    whole = world.whole()
    world.out.write_text("what was there before")
    world.cut_off(share)
    assert world.out.read_text() == "what was there before"
    kept = world.part.read_bytes()
    assert whole.startswith(kept)
    assert kept.endswith(b"\n")
    assert f"{len(kept.splitlines())} runs are kept in {world.part}: with --resume" in capsys.readouterr().err
    assert world.call("--resume") == 0
    assert world.out.read_bytes() == whole
    assert not world.part.exists()
    assert not world.state.exists()


def test_export_that_is_cut_off_again_and_again_comes_to_its_end(world: Cut) -> None:
    whole = world.whole()
    world.net.left = world.net.passed // 2
    statuses = []
    while not statuses or statuses[-1] != 0:
        statuses.append(world.call("--resume"))
        assert len(statuses) < 3 * N
    assert set(statuses[:-1]) == {FAULT}
    assert len(statuses) > 2
    assert world.out.read_bytes() == whole


def test_export_goes_on_as_of_when_it_began(world: Cut) -> None:
    whole = world.whole()
    world.cut_off(0.5)
    early, late = "2020-01-01T00:00:00Z", "2025-01-01T00:00:00Z"
    world.post(*(posted_document(commit=sha(90 + i), measured_at=at) for i, at in enumerate((early, late))))
    assert world.call("--resume") == 0
    assert world.out.read_bytes() == whole
    assert len(world.whole().splitlines()) == len(whole.splitlines()) + 2


def test_interrupted_export_goes_on(world: Cut, capsys: pytest.CaptureFixture[str]) -> None:
    whole, write, n = world.whole(), ExportFile.write, 0

    def interrupted(its: ExportFile, line: bytes) -> None:
        nonlocal n
        n += 1
        if n == 6:
            raise KeyboardInterrupt
        write(its, line)

    world.monkeypatch.setattr(ExportFile, "write", interrupted)
    assert world.call() == INTERRUPTED
    assert "5 runs are kept" in capsys.readouterr().err
    assert world.call("--resume") == 0
    assert world.out.read_bytes() == whole


def test_export_that_was_killed_goes_on(world: Cut) -> None:
    """It dies with half a run behind the last whole one, and has no chance to say or mend anything."""
    whole = world.whole()
    script = (
        "import os, signal\n"
        "from app.commands.export_file import ExportFile\n"
        "from app.cli import main\n"
        "write, written = ExportFile.write, []\n"
        "def dies(its, line):\n"
        "    written.append(line)\n"
        "    write(its, line if len(written) < 6 else line[:20])\n"
        "    if len(written) == 6:\n"
        "        its._file.flush()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "ExportFile.write = dies\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, "export", "--project", PROJECT, "--out", str(world.out)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert whole.startswith(world.part.read_bytes())
    assert not world.part.read_bytes().endswith(b"\n")
    assert world.call("--resume") == 0
    assert world.out.read_bytes() == whole


def test_relative_time_is_that_of_the_beginning(world: Cut) -> None:
    draw = random.Random(2)
    values = [[draw.random() for _ in range(400)] for _ in range(N)]
    world.post(*(posted_document(posted_result(values=v), commit=sha(80 + i)) for i, v in enumerate(values)))
    whole = world.whole("--since", "2h")
    world.cut_off(0.5, "--since", "2h")
    since = json.loads(world.state.read_text())["wanted"]["since"]
    assert world.call("--since", "2h", "--resume") == 0
    assert world.out.read_bytes() == whole
    assert since.startswith("20")


def test_resume_without_a_part_begins(world: Cut) -> None:
    assert world.call("--resume") == 0
    assert world.out.read_bytes() == world.whole()


def test_without_resume_an_export_begins_anew(world: Cut) -> None:
    world.cut_off(0.5)
    world.post(posted_document(commit=sha(91), measured_at="2020-01-01T00:00:00Z"))
    assert world.call() == 0
    assert world.out.read_bytes() == world.whole()
    assert not world.part.exists()
    assert not world.state.exists()


def test_nothing_is_left_of_an_export_that_never_came_to_a_mark(world: Cut) -> None:
    world.net.left = 300
    assert world.call() == FAULT
    assert [path for path in world.folder.iterdir() if "part" in path.name] == []


def test_part_of_another_export_is_refused_with_the_reason(
    world: Cut, capsys: pytest.CaptureFixture[str]
) -> None:
    world.cut_off(0.5, "--benchmark", "resize")
    kept, state = world.part.read_bytes(), world.state.read_text()
    for options, told in (
        ([], "--benchmark 'resize', and now is --project 'acme/vision'."),
        (["--benchmark", "sum"], "--benchmark 'resize', and now is"),
        (
            ["--benchmark", "resize", "--since", "9d"],
            "now is --project 'acme/vision' --benchmark 'resize' --since '9d'",
        ),
    ):
        assert world.call("--resume", *options) == USAGE
        assert told in capsys.readouterr().err
    world.monkeypatch.setenv("RATCHET_URL", "http://127.0.0.1:9")
    assert world.call("--resume", "--benchmark", "resize") == USAGE
    told = capsys.readouterr().err
    assert (
        f"the service was {world.address}, and now is http://127.0.0.1:9. Ask as before, or begin anew"
        in told
    )
    assert (world.part.read_bytes(), world.state.read_text()) == (kept, state)


@pytest.mark.parametrize("what", ["cut", "changed", "state"])
def test_part_that_is_not_what_was_written_is_refused(
    world: Cut, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    world.cut_off(0.5)
    written = world.part.read_bytes()
    if what == "state":
        world.state.write_text("{")
    else:
        world.part.write_bytes(written[:-1] if what == "cut" else written.replace(b"Ada", b"Eve"))
    assert world.call("--resume") == DATA
    assert "without --resume the export begins anew" in capsys.readouterr().err
    assert not world.out.exists()


def test_other_database_under_the_same_address_is_noticed(
    world: Cut, capsys: pytest.CaptureFixture[str]
) -> None:
    world.cut_off(0.5)
    with world.service.database.session() as session:
        session.execute(text("update result set measured_at = measured_at - interval '1 second'"))
    assert world.call("--resume") == DATA
    assert "this is no place of this export" in capsys.readouterr().err
    assert not world.out.exists()
    assert world.part.exists()


def test_two_exports_do_not_write_one_file(world: Cut, capsys: pytest.CaptureFixture[str]) -> None:
    world.cut_off(0.5)
    with world.part.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for options in ([], ["--resume"]):
            assert world.call(*options) == USAGE
            assert f"another export is writing {world.part}" in capsys.readouterr().err
    assert world.call("--resume") == 0


def test_resume_needs_a_file(world: Cut, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--project", PROJECT, "--resume"]) == USAGE
    assert "name it with --out" in capsys.readouterr().err


def test_behind_every_mark_is_the_rest_and_its_end(world: Cut) -> None:
    plain = world.answer().content.splitlines(keepends=True)
    marked = world.answer(marks=True).content.splitlines(keepends=True)
    assert [line for line in marked if read_mark(line) is None] == plain
    marks = {index: mark for index, line in enumerate(marked) if (mark := read_mark(line)) is not None}
    assert len(marks) == len(plain) - 1 == len(set(marks.values()))
    for index, mark in marks.items():
        behind = [line for line in marked[index:] if read_mark(line) is None]
        *rest, last = world.answer(after=mark).content.splitlines(keepends=True)
        assert rest == behind[:-1]
        end = read_end(last)
        assert end is not None
        assert end["end"]["documents"] == len(rest)


def test_mark_is_good_for_its_own_export_alone(world: Cut) -> None:
    world.post(posted_document(commit=sha(1)) | {"project": "acme/other"})
    marked = world.answer(marks=True, benchmark="resize").content.splitlines()
    mark = next(filter(None, map(read_mark, marked)))
    assert world.answer(after=mark, benchmark="resize").status_code == 200
    for wanted in (
        {"after": mark},
        {"after": mark, "benchmark": "sum"},
        {"after": mark, "benchmark": "resize", "since": "2024-01-01"},
        {"after": mark, "benchmark": "resize", "project": "acme/other"},
        {"after": mark[:-4], "benchmark": "resize"},
        {"after": "ש", "benchmark": "resize"},
    ):
        refused = world.answer(**wanted)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["path"] == "query.after"


def test_answer_with_marks_is_imported(world: Cut) -> None:
    path = world.folder / "answer.jsonl"
    path.write_bytes(world.answer(marks=True).content)
    assert run(["import", str(path), "--project", "acme/other"]) == 0
