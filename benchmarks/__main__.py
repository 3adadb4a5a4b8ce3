"""`make bench`: all figures, or those named: `python -m benchmarks startup claims`. None of them fails a build."""

from __future__ import annotations

import importlib
import sys

from benchmarks.figure import SkippedError

FIGURES = (
    "harness_overhead",
    "judge",
    "changes",
    "online",
    "ingest",
    "reads",
    "retention",
    "import_asv",
    "startup",
    "claims",
    "webhooks",
    "metrics",
    "notify",
    "pull_request",
    "footprint",
    "telemetry",
    "faults",
)
"""Modules with a `figures()` that yields `Figure`s."""

NAMED = ("at_scale", "weekly", "peer")
"""Others, run where they are named: they take many minutes, or install another service first.

`self_check` takes an hour and is a command of its own.
"""


def main(names: list[str]) -> None:
    """Print the figures of each module."""
    unknown = [name for name in names if name not in FIGURES + NAMED]
    if unknown:
        sys.exit(f"no figures named {unknown[0]!r}; there are: {', '.join(FIGURES + NAMED)}")
    for name in names or FIGURES:
        print(f"# {name}", flush=True)
        try:
            for figure in importlib.import_module(f"benchmarks.{name}").figures():
                print(figure.line(), flush=True)
        except SkippedError as error:
            print(f"skipped: {error}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
