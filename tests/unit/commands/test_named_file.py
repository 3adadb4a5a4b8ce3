"""Files that somebody names: whole or as they were, through links, and never in the place of a device or a pipe."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from app.commands.named_file import file_behind, refuse_unwritable, write_whole
from app.domain.errors import DataError, UsageError


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


def test_new_file_is_for_whom_the_mask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_name_that_is_as_long_as_names_may_be_is_written(tmp_path: Path) -> None:
    file = tmp_path / ("🚀" * 63)
    write_whole(file, b"long")
    assert file.read_bytes() == b"long"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EBUSY])
def test_file_is_as_it_was_unless_only_its_folder_takes_no_other(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine"
    file.write_text("before")

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space") if number == errno.ENOSPC else nullcontext():
        write_whole(file, b"after")
    assert file.read_text() == ("before" if number == errno.ENOSPC else "after")
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_refused_before_and_without_a_trace(tmp_path: Path, pipe: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to("file")
    file.write_text("before")
    for good in (link, file, tmp_path / "new", pipe, Path("/dev/null")):
        refuse_unwritable(good)
    file.unlink()
    refuse_unwritable(link)
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, pipe]
    for bad, said in ((tmp_path, "is a folder"), (tmp_path / "no" / "file", "no is not a folder")):
        with pytest.raises(DataError, match=said):
            refuse_unwritable(bad)


def test_link_that_leads_to_itself_is_no_fault(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    assert file_behind(link).parent == tmp_path
