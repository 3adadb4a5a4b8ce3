"""Small git repositories with benchmarks that need nothing installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SETTINGS = """
[project]
name = "acceptance/toy"

[[suite]]
name = "toy"
benchmarks = "benchmarks/bench_*.py"
devices = ["cpu-*"]
timeout = "20s"

[gate]
device_minutes = {device_minutes}
"""

SPIN = """
def run(ctx):
    total = 0
    for i in range({loops}):
        total += i * i
    return total
"""
"""A benchmark whose time is proportional to `loops`."""

_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class ToyRepository:
    """A repository that grows commit by commit; `commit` returns the new revision."""

    def __init__(self, path: Path, *, device_minutes: float = 0.3) -> None:
        self.path = path
        path.mkdir(parents=True)
        self._git("init", "--quiet", "--initial-branch=main")
        self._settings = SETTINGS.format(device_minutes=device_minutes)

    def commit(self, message: str, files: dict[str, str], *, settings: str | None = None) -> str:
        """Replace the whole tree by `files` and the settings, and commit it."""
        for old in [p for p in self.path.iterdir() if p.name != ".git"]:
            subprocess.run(["rm", "-rf", str(old)], check=True)
        for name, text in (files | {"ratchet.toml": settings or self._settings}).items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self._git("rev-parse", "HEAD")

    def _git(self, *arguments: str) -> str:
        result = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=os.environ | _ENVIRONMENT,
            check=True,
            capture_output=True,
            text=True,
        )
        return result.stdout.strip()
