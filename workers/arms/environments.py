"""Makes the virtual environment of a commit with its suite's set-up commands, and keeps it for whoever may share it.

Commits may share an environment when everything it was made from is equal: commands, Python, variables, and the files
that say what to install. What the commands really did is looked at afterwards:

- nothing of the commit is in it: both arms and later runs share it (`Scope.SHARED`);
- the commit's code was installed into it: it belongs to that tree (`Scope.TREE`);
- it names the work tree (an editable install), or the commands wrote into the work tree (an extension built in
  place): it is good for this one work tree, and goes with it (`Scope.CHECKOUT`).

A virtual environment holds absolute paths, so it is built where it stays; it counts once its record is written.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import re
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from workers.arms.checkout import NO_SPACE, UNREACHABLE, UNUSED_S, Git, is_unused, last_line
from workers.arms.packages import SHIM, prune_caches
from workers.arms.workspace import remove_tree, tree_size_b
from workers.errors import ArmError, JobError
from workers.programs.left_files import read_left
from workers.programs.runner import TAIL_B, Ended, Program, Runner
from workers.protocol import SuiteSpec

log = logging.getLogger(__name__)

BUILD_S = 1800.0
RECORD = "ratchet-environment.json"
GIB = 1024**3
MOST_TEXT_B = 1024**2

INGREDIENTS = (
    "**/pyproject.toml",
    "**/setup.py",
    "**/setup.cfg",
    "**/requirements*",
    "**/requirements*/**",
    "**/constraints*",
    "**/*.lock",
    "**/Pipfile",
    "**/environment*.yml",
    "**/environment*.yaml",
)
"""Files whose content decides what set-up commands install."""

BUILD_REMAINS = re.compile(r"(?:^|/)(?:build/|[^/]+\.egg-info/|__pycache__/)")
"""What a build leaves in a work tree without anything needing it later."""


class Scope(StrEnum):
    """Who may use an environment."""

    SHARED = "shared"
    TREE = "tree"
    CHECKOUT = "checkout"


class Record(BaseModel):
    """What is written beside a finished environment."""

    key: str
    scope: Scope
    tree: str
    size_b: int
    log_tail: str


@dataclass(frozen=True)
class Environment:
    """A finished environment."""

    path: Path
    scope: Scope
    is_compiled: bool
    """Whether the commit's code is installed in it with compiled parts, which its source tree lacks."""

    @property
    def python(self) -> Path:
        """The interpreter to measure with."""
        return self.path / "bin/python"

    @property
    def software(self) -> dict[str, str]:
        """Python and the installed distributions with their versions."""
        packages = dict(sorted(_name_and_version(info) for info in distributions(self.path)))
        return {"python": platform.python_version(), **packages}


class Environments:
    """All environments of one agent, as used by one job."""

    def __init__(
        self,
        folder: Path,
        git: Git,
        runner: Runner,
        variables: dict[str, str],
        *,
        packages: Path,
        max_gb: float,
        uv: str | None,
    ) -> None:
        """Name the folder, the means, and what set-up commands find in their environment.

        `max_gb` is the limit of all environments together [GiB], and by itself that of the installers' caches in
        `packages`.
        """
        self._folder = folder
        self._git = git
        self._runner = runner
        self._variables = variables
        self._packages = packages
        self._max_b = max_gb * GIB
        self._uv = uv
        self._in_use: set[Path] = set()
        self._has_built = False
        folder.mkdir(parents=True, exist_ok=True)

    def provide(self, checkout: Path, suite: SuiteSpec) -> Environment:
        """Return an environment for a commit's work tree: one that may be shared, else a new one.

        Raises:
            ArmError: a set-up command failed.
            JobError: the fault is this machine's: disk, network, no usable Python.
        """
        tree = self._git.read("rev-parse", "HEAD^{tree}", cwd=checkout).decode().strip()
        key = self.key_of(checkout, suite)
        found = self._find(key, tree)
        if found is None:
            found = self._build(key, tree, checkout, suite)
        os.utime(found.path / RECORD)
        self._in_use.add(found.path)
        return found

    def new_folder(self) -> Path:
        """Return where an environment can be made; one that has no record when the job ends is removed."""
        return self._folder / secrets.token_hex(8)

    def run_trusted(self, argv: list[str], cwd: Path) -> Ended:
        """Run an installer, or the like, with the network and the shared caches; nothing of a stranger's."""
        self._has_built = True
        return self._run(argv, cwd, self._variables, BUILD_S)

    def release(self) -> None:
        """Remove what was made for this job's work trees alone, whatever is unfinished, and what is long unused.

        The installers' caches are looked at where they may have grown; no set-up command is running any more.
        """
        self._in_use.clear()
        kept = []
        for folder in self._folder.iterdir():
            record = read_record(folder)
            if record is None or record.scope is Scope.CHECKOUT:
                remove_tree(folder)
            elif is_unused(folder / RECORD):  # such as those of a repository that is no longer measured here
                log.info("removing the environment %s, unused for %d days", folder.name, UNUSED_S // 86400)
                remove_tree(folder)
            else:
                kept.append((folder, record.size_b))
        self._evict(kept)
        if self._has_built:
            prune_caches(self._packages, self._max_b)

    def _evict(self, kept: list[tuple[Path, int]]) -> None:
        kept.sort(key=lambda item: (item[0] / RECORD).stat().st_mtime)
        excess_b = sum(size_b for _, size_b in kept) - self._max_b
        for folder, size_b in kept:
            if excess_b <= 0:
                return
            log.info("removing the environment %s, unused for longest", folder.name)
            remove_tree(folder)
            excess_b -= size_b

    def key_of(self, checkout: Path, suite: SuiteSpec) -> str:
        """Return the digest of everything that an environment is made from, but the commit's own code."""
        ingredients = self._ingredients(checkout, suite.setup) if suite.setup else ""
        python = [platform.python_version(), os.path.realpath(base_python())]
        parts = [suite.setup, python, suite.env if suite.setup else {}, ingredients]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _ingredients(self, checkout: Path, commands: list[str]) -> str:
        named = [word for command in commands for word in _words(command) if (checkout / word).is_file()]
        specs = [f":(top,glob){glob}" for glob in INGREDIENTS] + [f":(literal){word}" for word in named]
        return self._git.read("ls-files", "--stage", "--", *specs, cwd=checkout).decode(errors="replace")

    def _find(self, key: str, tree: str) -> Environment | None:
        for folder in self._folder.iterdir():
            record = read_record(folder)
            if record is not None and record.key == key and _fits(record, tree):
                return _environment(folder, record.scope)
        return None

    def _build(self, key: str, tree: str, checkout: Path, suite: SuiteSpec) -> Environment:
        self._has_built = True
        folder = self.new_folder()
        try:
            self._create(folder, checkout, with_pip=bool(suite.setup))
            build = Build(lambda *words: self._run(words[0], checkout, *words[1:]), judge=_build_failed)
            log_tail = build.set_up(folder, self._variables, suite)
            scope = self._scope(folder, checkout)
            record = Record(key=key, scope=scope, tree=tree, size_b=tree_size_b(folder), log_tail=log_tail)
            (folder / RECORD).write_text(record.model_dump_json())
        except BaseException:
            remove_tree(folder)
            raise
        return _environment(folder, scope)

    def _create(self, folder: Path, checkout: Path, *, with_pip: bool) -> None:
        """Make the virtual environment; by uv where it can, whose pip comes from the packages' index."""
        by_venv = [base_python(), "-I", "-m", "venv", *([] if with_pip else ["--without-pip"]), str(folder)]
        if with_pip and self._uv is not None:
            by_uv = [self._uv, "venv", "--quiet", "--seed", "--python", base_python(), str(folder)]
            if self._run(by_uv, checkout, self._variables, BUILD_S).ok:
                self._shim(folder, self._uv)
                return
            remove_tree(folder)
        ended = self._run(by_venv, checkout, self._variables, BUILD_S)
        if not ended.ok:
            message = f"{base_python()} cannot make virtual environments: {last_line(ended)}"
            raise JobError("no_environment", message, log_tail=ended.output.tail())

    def _shim(self, folder: Path, uv: str) -> None:
        text = SHIM.format(uv=shlex.quote(uv), python=shlex.quote(str(folder / "bin/python")))
        for name in ("pip", "pip3"):
            shim = folder / "bin" / name
            shim.unlink(missing_ok=True)
            shim.write_text(text)
            shim.chmod(0o755)

    def _run(self, argv: list[str], cwd: Path, env: dict[str, str], timeout_s: float) -> Ended:
        ended = self._runner.run(Program(argv, env, cwd, timeout_s))
        if not ended.ok and NO_SPACE in ended.output.text:
            raise JobError(
                "disk_full", "building an environment found the disk full", log_tail=ended.output.tail()
            )
        return ended

    def _scope(self, folder: Path, checkout: Path) -> Scope:
        if names_path(folder, checkout) or self._wrote_into(checkout):
            return Scope.CHECKOUT
        return (
            Scope.TREE if any(comes_from(info, checkout) for info in distributions(folder)) else Scope.SHARED
        )

    def _wrote_into(self, checkout: Path) -> bool:
        status = self._git.read("status", "--porcelain", "--ignored", "-z", cwd=checkout)
        paths = [os.fsdecode(entry[3:]) for entry in status.split(b"\0") if entry]
        return any(not BUILD_REMAINS.search(path) for path in paths)


class Build:
    """Runs the set-up commands of a suite, by whatever runs programs; `judge` says what the failure of one means."""

    def __init__(
        self,
        run: Callable[[list[str], dict[str, str], float], Ended],
        *,
        judge: Callable[[str, Ended, str], ArmError | JobError],
    ) -> None:
        self._run = run
        self._judge = judge

    def set_up(self, folder: Path, variables: dict[str, str], suite: SuiteSpec) -> str:
        """Run the commands for the environment in `folder` and return the end of their log."""
        path = f"{folder / 'bin'}:{variables['PATH']}"
        env = {**variables, "PATH": path, "VIRTUAL_ENV": str(folder), **suite.env}
        if env.get("UV_LINK_MODE") == "symlink":  # the environment would not outlive uv's cache
            del env["UV_LINK_MODE"]
        deadline = time.monotonic() + BUILD_S
        log_tail = ""
        for command in suite.setup:
            ended = self._run(["sh", "-c", command], env, max(1.0, deadline - time.monotonic()))
            log_tail = f"{log_tail}$ {command}\n{ended.output.tail()}"[-TAIL_B:]
            if not ended.ok:
                raise self._judge(command, ended, log_tail)
        return log_tail


def base_python() -> str:
    """Return the interpreter that environments are made with: the one beneath the agent's own environment."""
    return str(getattr(sys, "_base_executable", sys.executable))


def find_uv() -> str | None:
    """Return uv's path: beside the agent's own interpreter, or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("uv")


def read_record(folder: Path) -> Record | None:
    """Return an environment's record, or None where it was never finished."""
    try:
        return Record.model_validate_json((folder / RECORD).read_text())
    except (OSError, ValueError):
        return None


def names_path(folder: Path, checkout: Path) -> bool:
    """Tell whether an environment points into a work tree, as editable installs do in one way or another."""
    site = site_packages(folder)
    pointers = [
        *site.glob("*.pth"),
        *site.glob("*.egg-link"),
        *site.glob("__editable__*"),
        *site.glob("_*_editable*.py"),
    ]
    wanted = os.fsencode(checkout)
    return any(wanted in pointer.read_bytes() for pointer in pointers if pointer.is_file()) or any(
        comes_from(info, checkout) and _direct_url(info).get("dir_info", {}).get("editable", False)
        for info in distributions(folder)
    )


def _environment(folder: Path, scope: Scope) -> Environment:
    is_compiled = scope is Scope.TREE and any(compiled_parts(distributions(folder)))
    return Environment(folder, scope, is_compiled=is_compiled)


def compiled_parts(infos: Iterable[Path]) -> Iterator[Path]:
    """Yield those of installed distributions that were copied from a folder of this machine with compiled parts."""
    for info in infos:
        its = _direct_url(info)
        is_editable = its.get("dir_info", {}).get("editable", False)
        if (
            str(its.get("url", "")).startswith("file:")
            and not is_editable
            and "Root-Is-Purelib: false" in _text(info / "WHEEL")
        ):
            yield info


def _fits(record: Record, tree: str) -> bool:
    return record.scope is Scope.SHARED or (record.scope is Scope.TREE and record.tree == tree)


def _build_failed(command: str, ended: Ended, log_tail: str) -> ArmError | JobError:
    if UNREACHABLE.search(ended.output.text):
        message = f"set-up command {command!r} could not reach a package index: {last_line(ended)}"
        return JobError("packages_unreachable", message, log_tail=log_tail)
    return ArmError("build_failed", f"{ended.reason}: set-up command {command!r}", log_tail)


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    return [word for word in words if not PurePosixPath(word).is_absolute()]


def named_folders(checkout: Path, commands: list[str]) -> list[Path]:
    """Return the folders of a work tree that commands name, be it with extras: `./tools[dev]`."""
    named = [checkout / word.partition("[")[0] for command in commands for word in _words(command)]
    return [path for path in named if path.is_dir()]


def site_packages(folder: Path) -> Path:
    """Return where an environment has its packages."""
    return next((folder / "lib").glob("python*/site-packages"), folder)


def distributions(folder: Path) -> list[Path]:
    """Return the folders that tell of an environment's installed distributions, in order."""
    return sorted(site_packages(folder).glob("*.dist-info"))


def _name_and_version(info: Path) -> tuple[str, str]:
    name, _, version = info.name.removesuffix(".dist-info").partition("-")
    return name.lower().replace("_", "-"), version


def _direct_url(info: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(info / "direct_url.json") or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def comes_from(info: Path, checkout: Path) -> bool:
    """Tell whether a distribution was installed from a work tree."""
    url = urlsplit(str(_direct_url(info).get("url", "")))
    return url.scheme == "file" and Path(unquote(url.path)).is_relative_to(checkout)


def _text(path: Path) -> str:
    """Return the beginning of a file in the folder of a distribution, which its build may have made anything."""
    try:
        return read_left(path.parents[1], path, MOST_TEXT_B).decode(errors="replace")
    except OSError:
        return ""
