"""Conbench in a virtual environment of its own, outside the checkout, made the first time that it is measured.

Its server came with its packages on the package index until 2023 and runs with what was current then, which
`requirements.txt` names in full: nothing is resolved, so that each time the same is measured.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from benchmarks.cache import cache_folder
from benchmarks.figure import SkippedError
from workers.arms.environments import find_uv

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PYTHON = "3.11"
"""The last one for which all of them were built."""

INSTALL_S = 300


def version() -> str:
    """Return the version that is measured."""
    lines = REQUIREMENTS.read_text().splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith("conbench=="))


def installed() -> Path:
    """Return the folder of the environment, made where it is missing.

    Raises:
        SkippedError: there is no uv, no Python of that version, or no package index in reach.
    """
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    home = cache_folder() / f"conbench-{version()}-{digest}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        fresh = home.with_name(f"{home.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        _make(fresh)
        fresh.rename(home)  # an interrupted one is no environment
    return home


def site_packages(home: Path) -> Path:
    """Return where the environment's packages are."""
    return next((home / "lib").glob("python*/site-packages"))


def _make(folder: Path) -> None:
    uv = find_uv()
    if uv is None:
        raise SkippedError("Conbench cannot be installed: there is no uv beside this Python, nor on PATH")
    python = folder / "bin" / "python"
    for command in (
        [uv, "venv", "--quiet", "--relocatable", "--python", PYTHON, str(folder)],
        # All are named, so none is looked for: Conbench asks for psycopg2, whose sources want a compiler.
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", str(python), "-r", str(REQUIREMENTS)],
    ):
        _run(command)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired:
        raise SkippedError(f"Conbench was not installed within {INSTALL_S} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"uv ended with {done.returncode}"]
        raise SkippedError(f"Conbench cannot be installed: {said[-1]}")
