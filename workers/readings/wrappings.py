"""What recorded outputs come in: compressed, in any encoding, in one report of many, behind the prefixes of a log.

Text is given to the readers as the tool wrote it. Nothing here knows any tool.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator

from workers.readings.reader import UnreadableError

GZIP = b"\x1f\x8b"
ARCHIVES = {
    "zip": (0, b"PK\x03\x04"),
    "tar": (257, b"ustar"),
    "bzip2": (0, b"BZh"),
    "xz": (0, b"\xfd7zXZ\x00"),
    "zstd": (0, b"\x28\xb5\x2f\xfd"),
    "7z": (0, b"7z\xbc\xaf\x27\x1c"),
}
"""Forms that are named and not opened -> where their mark is, and the mark."""

BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
SAMPLE_B = 512

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^_=>])")
"""Control sequences of terminals (ECMA-48), of outputs that were recorded with their colours."""

RULE = re.compile(r"^_{40,}[ \t]*$", re.MULTILINE)
"""Stands before each part of `nvidia-bug-report.sh`'s log."""

MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
UNIT = r"\S+ (?P<{}>[^\s:\[]+)\[\d+\]: ?"
PREFIX = re.compile(
    r"(?:(?P<pod>\[(?:pod|container)/[^\]\n]+\]) ?)?"
    rf"(?:{MOMENT}(?: |$)(?:std(?P<stream>out|err) [FP] ?|{UNIT.format('unit')})?)?"
    rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d {UNIT.format('syslog_unit')})?"
    r"(?:(?P<service>[\w.-]+) +\| ?)?"
)
"""What log collectors put before each line: `kubectl logs --prefix --timestamps`, the files of Kubernetes' container
runtimes, `docker compose logs`, `journalctl` (its short and its ISO form)."""


def unpacked(content: bytes, most_b: int) -> bytes:
    """Return a file's content, that of a gzip'd file unpacked.

    Raises:
        UnreadableError: it is an archive, is broken, or is larger than `most_b` once it is unpacked.
    """
    if content.startswith(GZIP):
        content = _gunzipped(content, most_b)
    for name, (place, mark) in ARCHIVES.items():
        if content[place : place + len(mark)] == mark:
            raise UnreadableError(f"an archive ({name}); unpack it first")
    return content


def _gunzipped(content: bytes, most_b: int) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            found = file.read(most_b + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"gzip: {error}") from error
    if len(found) > most_b:
        raise UnreadableError(f"gzip: larger than {most_b // 2**20} MiB once it is unpacked")
    return found


def decoded(content: bytes) -> str | None:
    """Return text as tools of any system write it, lines ending in any way; None for what is no text."""
    encoding = BYTE_ORDER_MARKS.get(content[:2]) or _unmarked(content[:SAMPLE_B])
    if encoding is None:
        return None
    return re.sub(r"\r+\n", "\n", content.decode(encoding, errors="replace"))


def _unmarked(sample: bytes) -> str | None:
    """Return the encoding of a text without a byte order mark: in UTF-16 every other byte of plain text is 0."""
    if 0 not in sample:
        return "utf-8-sig"
    for encoding, zeros, others in (
        ("utf-16-le", sample[1::2], sample[::2]),
        ("utf-16-be", sample[::2], sample[1::2]),
    ):
        if not any(zeros) and 0 not in others:
            return encoding
    return None


def outputs(text: str) -> Iterator[list[str]]:
    """Yield ways to take a text apart into outputs of tools, the likeliest first."""
    if RULE.search(text):
        yield RULE.split(text)
    yield [text]
    unwrapped = without_prefixes(text)
    if unwrapped:
        yield unwrapped


def without_prefixes(text: str) -> list[str]:
    """Return the texts that a log was collected from, a program's each; none where a line has no prefix."""
    sources: dict[tuple[str | None, ...], list[str]] = {}
    for line in ESCAPES.sub("", text).splitlines():
        prefix = PREFIX.match(line)
        if not line.strip():
            continue
        if prefix is None or not prefix[0]:
            return []
        sources.setdefault(prefix.groups(), []).append(line[prefix.end() :])
    return ["\n".join([*lines, ""]) for lines in sources.values()]
