"""The demonstration, as `make demo` runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import NOT_ALONE, RATCHET, locks

pytestmark = [pytest.mark.postgres, pytest.mark.redis]


def test_demo_finds_the_slower_branch_and_blames_no_other(folder: Path) -> None:
    data = folder / "demo"
    done = subprocess.run(
        [*RATCHET, "demo", "--data-dir", str(data), "--exit"],
        env=os.environ | NOT_ALONE | locks(data),
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    titles = {
        line.split(":", 1)[0]: line.split(":", 1)[1]
        for line in done.stdout.splitlines()
        if line.startswith(("slower:", "faster:", "neutral:"))
    }
    assert "regressed" in titles["slower"]
    assert "regressed" not in titles["faster"].replace("no regression", "")
    assert "regressed" not in titles["neutral"].replace("no regression", "")
    for branch in titles:
        assert (data / f"report-{branch}.html").stat().st_size > 5_000
