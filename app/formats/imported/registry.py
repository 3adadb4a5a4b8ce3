"""The formats that can be imported: which one a file is of, by its content, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
    """One format: what it is to people, how a document of it is told and read, and which files go with it.

    `read_one` reads a document of a file that has one a line, each by itself and with its place; None where only all
    of them say together what a run measured.
    """

    title: str
    recognises: Callable[[Any], bool]
    read: Callable[[Any, Mapping[str, Any], Reading], Reading]
    companions: tuple[str, ...] = ()
    read_one: Callable[[Any, str, Reading], None] | None = None


FORMATS = {
    "asv": Format("asv", asv.recognises, asv.read, (asv.MACHINE, asv.BENCHMARKS)),
    "github-action-benchmark": Format(
        "github-action-benchmark", github_action_benchmark.recognises, github_action_benchmark.read
    ),
    "pytest-benchmark": Format("pytest-benchmark", pytest_benchmark.recognises, pytest_benchmark.read),
    "google-benchmark": Format("Google Benchmark", google_benchmark.recognises, google_benchmark.read),
    "conbench": Format("Conbench", conbench.recognises, conbench.read),
    "bencher": Format("Bencher", bencher.recognises, bencher.read, read_one=bencher.read_one),
    "ratchet": Format("Ratchet", ratchet.recognises, ratchet.read, read_one=ratchet.read_one),
}
"""Name -> format, in the order in which they are tried."""

COMPANIONS = frozenset(name for known in FORMATS.values() for name in known.companions)
"""Names of files that go with others and are no history by themselves."""


def recognise(document: Any) -> str | None:
    """Return the name of the document's format; None where it is of none."""
    return next((name for name, known in FORMATS.items() if known.recognises(document)), None)
