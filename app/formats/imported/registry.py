"""The formats that can be imported: which one a file is of, by its content, and what it says.

Files are JSON, but not strictly so: asv writes NaN, `data.js` is a line of JavaScript, and Ratchet's own documents
come a line each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.errors import DataError
from app.formats.imported import (
    asv,
    bencher,
    conbench,
    github_action_benchmark,
    google_benchmark,
    pytest_benchmark,
    ratchet,
)
from app.formats.imported.model import Reading


@dataclass(frozen=True)
class Format:
    """One format: what it is to people, how a document of it is told and read, and which files go with it."""

    title: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any, Mapping[str, Any]], Reading]
    companions: tuple[str, ...] = ()


FORMATS = {
    "asv": Format("asv", asv.recognises, asv.read, (asv.MACHINE, asv.BENCHMARKS)),
    "github-action-benchmark": Format(
        "github-action-benchmark", github_action_benchmark.recognises, github_action_benchmark.read
    ),
    "pytest-benchmark": Format("pytest-benchmark", pytest_benchmark.recognises, pytest_benchmark.read),
    "google-benchmark": Format("Google Benchmark", google_benchmark.recognises, google_benchmark.read),
    "conbench": Format("Conbench", conbench.recognises, conbench.read),
    "bencher": Format("Bencher", bencher.recognises, bencher.read),
    "ratchet": Format("Ratchet", ratchet.recognises, ratchet.read),
}
"""Name -> format, in the order in which they are tried."""

COMPANIONS = frozenset(name for known in FORMATS.values() for name in known.companions)
"""Names of files that go with others and are no history by themselves."""

_SCRIPT = "window.BENCHMARK_DATA"


def parse(data: bytes) -> Any:
    """Return the document that a file holds; several lines with one each are a list.

    Raises:
        DataError: it is no UTF-8, or no JSON; the message says where.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: see byte {error.start}", code="bad_utf8") from None
    stripped = text.strip()
    if stripped.startswith(_SCRIPT):
        text = stripped.removeprefix(_SCRIPT).lstrip().removeprefix("=").rstrip().removesuffix(";")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if (documents := _parse_lines(text)) is not None:
            return documents
        where = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"not JSON: {error.msg} at {where}", code="bad_json") from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"not JSON that can be read: {error}", code="bad_json") from None


def _parse_lines(text: str) -> list[Any] | None:
    """Return the documents of JSON Lines, None where a line is no document."""
    # Not by splitlines(), which also ends a line within a text that has one of Unicode's other line breaks.
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        return [json.loads(line) for line in lines] if len(lines) > 1 else None
    except (ValueError, RecursionError):
        return None


def recognise(document: Any) -> str | None:
    """Return the name of the document's format; None where it is of none."""
    return next((name for name, known in FORMATS.items() if known.recognises(document)), None)
