"""Files that somebody names: whole or as they were, through links, and never in the place of a device or a pipe."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from app.commands.named_file import file_behind, write_whole
from app.domain.errors import UsageError


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to("file")
    for content in (b"one", b"two"):
        write_whole(link, content)
        assert link.is_symlink()
        assert file.read_bytes() == content
    assert file_behind(link) == file
    assert sorted(tmp_path.iterdir()) == [file, link]


def test_pipe_gets_what_is_written_and_stays_one(pipe: Path) -> None:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, b"a report")
    reader.join(10)
    assert got == [b"a report"]
    assert pipe.is_fifo()


def test_what_takes_its_place_once_it_is_whole_takes_no_pipes_place(pipe: Path) -> None:
    with pytest.raises(UsageError, match=r"pipe is no file"):
        file_behind(pipe)
    with pytest.raises(UsageError, match=r"/dev/null is no file"):
        file_behind(Path("/dev/null"))


def test_who_may_read_a_file_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("before")
    file.chmod(0o600)
    write_whole(file, b"after")
    assert file.stat().st_mode & 0o777 == 0o600


def test_file_is_as_it_was_where_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine"
    file.write_text("before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, b"after")
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]
