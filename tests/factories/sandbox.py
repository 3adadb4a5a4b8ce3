"""Tests that need a real sandbox are skipped with the reason where this machine has none."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

from workers.programs.sandbox.probe import Isolation, probe


@cache
def isolation() -> Isolation:
    """Return what this machine gives, as an agent would find."""
    with tempfile.TemporaryDirectory(prefix="ratchet-probe-") as folder:
        return probe(Path(folder))


needs_sandbox = pytest.mark.skipif(
    isolation().sandbox is None, reason=f"no sandbox on this machine: {isolation().reason}"
)
