"""Tests that need a real sandbox are skipped with the reason where this machine has none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from workers.programs.sandbox.probe import Isolation, probe


@cache
def isolation() -> Isolation:
    """Return what this machine gives, as an agent finds."""
    with tempfile.TemporaryDirectory(prefix="ratchet-probe-") as folder:
        return probe(Path(folder))


def _lack() -> str:
    """Return why there can be no sandbox here, whatever Ratchet does; empty where there can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    command = ["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "--proc", "/proc"]
    if os.geteuid() != 0:
        command.append("--unshare-user")
    done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"the kernel gives no namespaces: {done.stderr.strip()}"


LACK = _lack()
needs_sandbox = pytest.mark.skipif(bool(LACK), reason=LACK)
