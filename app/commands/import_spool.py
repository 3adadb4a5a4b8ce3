"""Where documents wait, on disk, from when they were judged until they are posted.

Nothing is posted before all is judged, and the oldest goes first, whichever file it stands in. In memory there are only
three numbers a document: where it stands among the others, and where in the file.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from array import array
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from app.domain.errors import UnavailableError
from app.formats.imported.documents import PreparedDocument

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LEVEL = 1
"""Of compression: the disk may be memory, and a document is a third of its size after it."""


class Spool:
    """Documents in a file without a name, which is gone with the process, however that ends.

    Raises UnavailableError where the disk takes no more.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="ratchet-import-")  # noqa: SIM115 closed by `close`
        self._positions, self._moments, self._begins = array("q"), array("q"), array("q")
        self._end = 0

    def __enter__(self) -> Spool:
        """Return the spool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the space back."""
        with suppress(OSError):  # what was not written need not be
            self._file.close()

    def __len__(self) -> int:
        """Return how many documents there are."""
        return len(self._begins)

    def add(self, document: PreparedDocument) -> None:
        """Take a document."""
        position, moment = document.order
        packed = zlib.compress(_line([document.file, document.places]) + document.line, _LEVEL)
        try:
            self._file.write(packed)
        except OSError as error:
            raise _full(error) from None
        self._positions.append(position)
        self._moments.append((moment - _EPOCH) // _MICROSECOND)
        self._begins.append(self._end)
        self._end += len(packed)

    def in_order(self) -> Iterator[PreparedDocument]:
        """Yield the documents, the oldest first; those of one moment in the order in which they came."""
        try:
            self._file.flush()
        except OSError as error:
            raise _full(error) from None
        for index in sorted(range(len(self)), key=self._place):
            yield self._read(index)

    def _place(self, index: int) -> int:
        """Return what orders documents by position and then by moment, which is below 2**62 for every year."""
        return (self._positions[index] << 64) + self._moments[index]

    def _read(self, index: int) -> PreparedDocument:
        begin = self._begins[index]
        end = self._begins[index + 1] if index + 1 < len(self) else self._end
        self._file.seek(begin)
        head, _, line = zlib.decompress(self._file.read(end - begin)).partition(b"\n")
        file, places = json.loads(head)
        return PreparedDocument(file, line, places)


def _line(told: Any) -> bytes:
    return json.dumps(told).encode() + b"\n"


def _full(error: OSError) -> UnavailableError:
    return UnavailableError(
        f"{tempfile.gettempdir()} takes no more of what is to be imported: {error.strerror}; "
        "have TMPDIR name a folder with more room",
        code="no_space",
    )
