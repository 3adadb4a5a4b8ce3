"""`make bench`: all figures, or those named: `python -m benchmarks startup claims`. None of them fails a build."""

from __future__ import annotations

import importlib
import sys

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
    "pull_request",
    "footprint",
    "telemetry",
    "faults",
)
"""Modules with a `figures()` that yields `Figure`s."""

LONG = ("at_scale",)
"""Others that take many minutes, run where they are named; `self_check` takes an hour and is a command of its own."""


def main(names: list[str]) -> None:
    """Print the figures of each module."""
    unknown = [name for name in names if name not in FIGURES + LONG]
    if unknown:
        sys.exit(f"no figures named {unknown[0]!r}; there are: {', '.join(FIGURES + LONG)}")
    for name in names or FIGURES:
        print(f"# {name}", flush=True)
        for figure in importlib.import_module(f"benchmarks.{name}").figures():
            print(figure.line(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
