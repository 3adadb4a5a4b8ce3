"""Documents between being judged and being posted: on disk, and in their order."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import pytest

from app.commands.import_spool import Spool
from app.domain.errors import UnavailableError
from app.formats.imported.documents import PreparedDocument


def document(commit: str, measured_at: str, **fields: Any) -> PreparedDocument:
    body = {"commit": commit, "measured_at": measured_at, "results": [{"benchmark": "b ש"}], **fields}
    return PreparedDocument.of(f"{commit}.json", body, ["results[0]"])


def order(*documents: PreparedDocument) -> list[str]:
    with Spool() as spool:
        for one in documents:
            spool.add(one)
        return [found.body["commit"] for found in spool.in_order()]


def test_document_comes_back_as_it_was() -> None:
    told = document("a", "2020-01-01T00:00:00+00:00")
    with Spool() as spool:
        spool.add(told)
        (found,) = spool.in_order()
    assert found == told
    found.without([0])
    assert (found.body["results"], found.places, found.body["commit"]) == ([], [], "a")


def test_the_oldest_comes_first_and_those_of_one_moment_as_they_came() -> None:
    assert order(
        document("late", "2020-01-01T00:30:00+00:00"),
        document("b", "2020-01-01T02:00:00+02:00"),
        document("a", "2020-01-01T00:00:00+00:00"),
        document("before 1970", "1969-12-31T23:59:59.999999+00:00"),
        document("a microsecond later", "2020-01-01T00:00:00.000001+00:00"),
    ) == ["before 1970", "b", "a", "a microsecond later", "late"]


def test_position_goes_before_the_date_and_none_before_all() -> None:
    assert order(
        document("second", "1999-01-01T00:00:00+00:00", position=1),
        document("first", "9999-12-31T23:59:59+00:00", position=0),
        document("without", "2020-01-01T00:00:00+00:00"),
        document("last", "0001-01-01T00:00:00+00:00", position=2**31 - 1),
    ) == ["without", "first", "second", "last"]


def test_file_has_no_name_that_could_be_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Spool() as spool:
        spool.add(document("a", "2020-01-01T00:00:00+00:00"))
        assert len(list(spool.in_order())) == 1
        assert list(tmp_path.iterdir()) == []


def test_full_disk_is_told_with_what_to_do() -> None:
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with Spool() as spool:
        spool._file.close()
        spool._file = Full()  # type: ignore[assignment]
        told = document("a", "2020-01-01T00:00:00+00:00")
        with pytest.raises(UnavailableError, match="No space left on device; have TMPDIR name"):
            spool.add(told)
