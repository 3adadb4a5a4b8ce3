"""Gives both arms the same benchmark files, so that a change in a benchmark is no change in the code.

The files are those that the suite's globs match in one arm's commit. Only what git tracks is looked at, so the
result does not depend on what a build left behind, and nothing outside the work tree can be named.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from workers.arms.checkout import Git
from workers.errors import ArmError
from workers.programs.left_files import clear

ENTRY = re.compile(rb"(\d{6}) ([0-9a-f]+) \d\t([^\0]+)\0")
"""Mode, object id, stage and path, as `git ls-files --stage -z` prints them."""

SYMLINK = b"120000"
SUBMODULE = b"160000"

Blobs = dict[str, str]
"""Object ids by path, POSIX form, relative to the work tree's root."""


def matching_files(git: Git, checkout: Path, globs: Sequence[str]) -> Blobs:
    """Return the tracked files of a work tree that the globs match, in order of path.

    `*` and `?` stay within a folder, `**` is any number of folders (git's own `glob` pathspecs).

    Raises:
        ArmError: one of them is a symbolic link that leaves the work tree, or a glob points out of it.
    """
    if not globs:
        return {}
    specs = [f":(top,glob){glob}" for glob in globs]
    listing = git.read("ls-files", "--stage", "-z", "--", *specs, cwd=checkout)
    files = {}
    for mode, blob, raw in ENTRY.findall(listing):
        path = os.fsdecode(raw)
        if mode == SYMLINK:
            _refuse_leaving(checkout, path)
        if mode != SUBMODULE:
            files[path] = blob.decode()
    return files


def benchmark_names(files: Blobs) -> list[str]:
    """Return those of the files that hold benchmarks; the rest is what they need."""
    return [path for path in files if fnmatch.fnmatchcase(PurePosixPath(path).name, "bench_*.py")]


def overlay(source: Path, files: Blobs, target: Path, replaced: Blobs) -> None:
    """Put `files` of the work tree `source` into `target`, in the place of its own `replaced`."""
    for path in replaced:
        if not _leads_elsewhere(target, path):
            clear(target / path)
    for path in files:
        destination = target / path
        _make_room(target, destination.parent)
        clear(destination)  # what the commit's own code may have put there must not be written through
        shutil.copy2(source / path, destination, follow_symlinks=False)


def _refuse_leaving(root: Path, path: str) -> None:
    target = os.path.realpath(root / path)
    if not Path(target).is_relative_to(root.resolve()):
        raise ArmError(
            "list_failed", f"unsafe_path: the benchmark file {path} is a link out of the repository"
        )


def _leads_elsewhere(root: Path, path: str) -> bool:
    """Tell whether a folder on the way to a file is a link, which code of the commit may have made it."""
    return any((root / parent).is_symlink() for parent in PurePosixPath(path).parents)


def _make_room(root: Path, folder: Path) -> None:
    """Make a folder; where the other commit has a file or a link in its way, that goes."""
    for parent in reversed([folder, *folder.parents]):
        if parent.is_relative_to(root) and parent != root and (parent.is_symlink() or parent.is_file()):
            parent.unlink()
    folder.mkdir(parents=True, exist_ok=True)
