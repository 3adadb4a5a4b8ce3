"""Make the demonstration's git repository: `main` and three branches, one a pull request each.

`slower` writes its constants with more digits and loses their dtype: everything after them is computed in
float64. `faster` classifies a batch in two matrix products where `main` takes image after image. `neutral` renames
a variable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

SUFFIX = ".tmpl"
"""Keeps the demonstration's sources from being taken for ours by linters and test runners."""


@dataclass(frozen=True)
class PullRequest:
    """A branch, its commit message, and what a check of it should find."""

    branch: str
    message: str
    expected: str


PULL_REQUESTS = (
    PullRequest("slower", "Preprocess with the constants' full precision", "regressed"),
    PullRequest("faster", "Classify a batch in two matrix products", "passed, improved"),
    PullRequest("neutral", "Name the logits in softmax", "no regression"),
)

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ratchet demo",
    "GIT_AUTHOR_EMAIL": "demo@ratchet.invalid",
    "GIT_COMMITTER_NAME": "Ratchet demo",
    "GIT_COMMITTER_EMAIL": "demo@ratchet.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def make_repository(folder: Path) -> Path:
    """Write the repository into `folder`, anew if there is one already, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder, "base", "Classify camera images")
    for pull_request in PULL_REQUESTS:
        _git(folder, "checkout", "--quiet", "-b", pull_request.branch, "main")
        _commit(folder, pull_request.branch, pull_request.message)
    _git(folder, "checkout", "--quiet", "main")
    return folder


def _commit(folder: Path, layer: str, message: str) -> None:
    with as_file(files("app.demo") / "files" / layer) as source:
        for template in sorted(source.rglob(f"*{SUFFIX}")):
            target = folder / template.relative_to(source).with_suffix("")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(template.read_text())
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", f"--message={message}")


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=os.environ | _IDENTITY, check=True)
