"""The watching of a running service: it goes on whatever one part's start raises, and says so."""

from __future__ import annotations

import errno
import itertools
import sys
import time
from pathlib import Path

import pytest

from app.domain.errors import UnavailableError
from app.local import child as child_module
from app.local.child import Child
from app.local.data_dir import DataDir
from app.local.stack import LocalStack, StackOptions
from app.local.watch import FIRST_PAUSE_S, LONGEST_PAUSE_S, Watch
from workers.keeper import Kept

NO_SPACE = OSError(errno.ENOSPC, "No space left on device", "/logs/api.log")
NO_PROCESSES = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


class Part:
    """Something that is revived; `error` is what its start raises just now."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.tries = 0

    def revive(self) -> str | None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        return None


@pytest.mark.parametrize(
    "error", [NO_SPACE, NO_PROCESSES, MemoryError(), UnavailableError("no redis-server")], ids=repr
)
def test_part_that_cannot_be_started_does_not_keep_the_others_from_it(error: Exception) -> None:
    broken, well, said = Part(error), Part(), list[str]()
    watch = Watch({"redis": broken.revive, "api": well.revive}, said.append)
    for second in range(3):
        watch.look(float(second))
    assert well.tries == 3
    assert len(said) == 1
    assert said[0].startswith("cannot start redis again")
    assert (str(error) or "MemoryError") in said[0]


def test_pauses_between_tries_grow_to_a_longest() -> None:
    broken = Part(NO_SPACE)
    watch, tried_at = Watch({"api": broken.revive}, lambda _: None), []
    for second in range(0, 200):
        before = broken.tries
        watch.look(float(second))
        tried_at += [second] * (broken.tries - before)
    pauses = [later - earlier for earlier, later in itertools.pairwise(tried_at)]
    assert pauses[0] == FIRST_PAUSE_S
    assert pauses == sorted(pauses)
    assert set(pauses[-2:]) == {LONGEST_PAUSE_S}


def test_start_that_works_again_is_said_and_the_pause_begins_anew() -> None:
    part, said = Part(NO_SPACE), list[str]()
    watch = Watch({"api": part.revive}, said.append)
    for second in (0, 1, 3):
        watch.look(float(second))
    part.error = None
    watch.look(7.0)
    assert said[1:] == ["api could be started again"]
    part.error = NO_PROCESSES
    watch.look(8.0)
    watch.look(8.0 + FIRST_PAUSE_S)
    assert part.tries == 6


def test_another_reason_is_said_as_well() -> None:
    part, said = Part(NO_SPACE), list[str]()
    watch = Watch({"api": part.revive}, said.append)
    watch.look(0.0)
    part.error = NO_PROCESSES
    watch.look(1.0)
    assert [text.rpartition("] ")[2] for text in said] == [
        "No space left on device: '/logs/api.log'",
        "Resource temporarily unavailable",
    ]


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), ValueError("I/O operation on closed file")], ids=["pipe", "closed"]
)
def test_listener_that_is_gone_does_not_end_the_watching(error: Exception) -> None:
    def say(_: str) -> None:
        raise error

    part = Part(NO_SPACE)
    watch = Watch({"api": part.revive}, say)
    watch.look(0.0)
    watch.look(1.0)
    assert part.tries == 2


def test_fallen_process_is_started_again_after_the_disk_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stack's own thread, a real process, and a start that fails twice for want of space."""
    monkeypatch.setattr("app.local.stack._WATCH_EVERY_S", 0.01)
    monkeypatch.setattr("app.local.watch.FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(child_module, "_FIRST_PAUSE_S", 0.01)
    failures = [NO_SPACE, NO_PROCESSES]
    said: list[str] = []
    stack = LocalStack(DataDir(tmp_path), StackOptions("127.0.0.1", 0), said.append)
    marks = tmp_path / "marks"
    child = Child("api", [sys.executable, "-c", MARK, str(marks)], env={}, log=tmp_path / "api.log")
    child.start()

    def failing(*arguments: object, **options: object) -> Kept:
        if failures:
            raise failures.pop(0)
        return Kept(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(child_module, "Kept", failing)
    stack._children.append(child)
    stack._begin_watching()
    try:
        while not (marks.exists() and len(marks.read_text()) > 1):
            assert stack._watcher is not None
            assert stack._watcher.is_alive()
            time.sleep(0.01)
    finally:
        stack.stop()
    assert failures == []
    assert said[0].startswith("api ended with status 1 and is started again")
    assert [text.partition(":")[0] for text in said[1:3]] == ["cannot start api again, trying on"] * 2
    assert "api could be started again" in said


MARK = "import sys, time; open(sys.argv[1], 'a').write('x'); mark = open(sys.argv[1]).read(); " + (
    "sys.exit(1) if len(mark) < 2 else time.sleep(600)"
)
