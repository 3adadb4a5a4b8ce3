"""Makes the environment of a stranger's commit: in the sandbox, without a network, upon what base's set-up installed.

Base's code is trusted, and its environment was made as always. Where a stranger's commit needs none of its own, it
reads that one. Else it gets a copy, and in it its own set-up commands run confined: an installer finds base's packages
there already, and the tools that base's project is built with beside it, since an isolated build would have to fetch
them. The copy is this run's alone and goes with it; nothing that other runs use can be written.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.arms.environments import (
    RECORD,
    Build,
    Environment,
    Environments,
    Scope,
    comes_from,
    compiled_parts,
    distributions,
    named_folders,
    read_record,
    site_packages,
)
from workers.arms.workspace import remove_tree
from workers.errors import ArmError, JobError
from workers.programs.runner import Ended, Program, Runner
from workers.programs.sandbox.bubblewrap import Confinement, Sandbox
from workers.protocol import SuiteSpec

log = logging.getLogger(__name__)

DEFAULT_TOOLS = ("setuptools>=40.8.0",)
"""What a project is built with that does not say (PEP 518)."""

OFFLINE = {
    "UV_OFFLINE": "1",
    "UV_NO_BUILD_ISOLATION": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads the option's value, not its name
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
"""How installers are told that there is no network, and to build with what is there."""

WANTS_NETWORK = re.compile(
    r"network (?:was|is) (?:disabled|unreachable)|network connectivity is disabled|name resolution|resolve host"
    r"|name or service not known|nodename nor servname|getaddrinfo|connection refused|failed to establish a new conn"
    r"|couldn't connect|failed to connect|no matching distribution found|could not find a version that satisfies"
    r"|no solution found when resolving|not found in the (?:cache|package registry)|no network|dns error"
    r"|no module named '?(?:setuptools|hatchling|poetry|flit_core|pdm|maturin|scikit_build_core|mesonpy|wheel)",
    re.IGNORECASE,
)
"""What programs say that needed something that is not here."""


@dataclass(frozen=True)
class Base:
    """The trusted commit that a stranger's is held against, made ready."""

    checkout: Path
    environment: Environment | None


class StrangeEnvironments:
    """Makes the environments of one job's stranger; those of trusted commits are made by `environments`."""

    def __init__(
        self,
        environments: Environments,
        runner: Runner,
        sandbox: Sandbox,
        new_home: Callable[[], Path],
        variables: Callable[[Path], dict[str, str]],
        *,
        uv: str | None,
    ) -> None:
        """Name the means.

        `new_home` makes an empty folder that is a process's own, `variables` what every program gets with that home.
        """
        self._environments = environments
        self._runner = runner
        self._sandbox = sandbox
        self._new_home = new_home
        self._variables = variables
        self._uv = uv

    def provide(self, checkout: Path, suite: SuiteSpec, base: Base) -> Environment:
        """Return an environment for a stranger's work tree.

        Raises:
            ArmError: a set-up command failed, or base has no environment to build upon.
            JobError: the fault is not the commit's: it needs a network, or this machine lacks something.
        """
        if base.environment is None:
            reason = "no_base: untrusted code is built upon base's environment, and base has none"
            raise ArmError("build_failed", reason)
        record = read_record(base.environment.path)
        is_equal = record is not None and record.key == self._environments.key_of(checkout, suite)
        if is_equal and base.environment.scope is Scope.SHARED:
            return base.environment
        tools = self._tools(base, suite)
        folder = self._environments.new_folder()
        try:
            self._copy(base, folder)
            self._set_up(folder, checkout, suite, tools)
            if not site_packages(folder).resolve().is_relative_to(folder.resolve()):
                raise ArmError("build_failed", "unsafe_path: set-up made the environment's packages a link")
        except BaseException:
            remove_tree(folder)
            raise
        is_compiled = any(compiled_parts(distributions(folder)))
        return Environment(folder, Scope.CHECKOUT, is_compiled=is_compiled)

    def _tools(self, base: Base, suite: SuiteSpec) -> Path | None:
        """Return a folder with the tools that base's project is built with, as base names them; None for none."""
        wanted = build_tools([base.checkout, *named_folders(base.checkout, suite.setup)])
        if not wanted:
            return None
        folder = self._new_home() / "tools"
        assert base.environment is not None
        python = base.environment.python
        if self._uv is not None:
            argv = [
                self._uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                str(python),
                "--target",
                str(folder),
                *wanted,
            ]
        else:
            argv = [str(python), "-m", "pip", "install", "--quiet", "--target", str(folder), *wanted]
        ended = self._environments.run_trusted(argv, folder.parent)
        if not ended.ok:
            message = f"the tools that base's project is built with cannot be had: {', '.join(wanted)}"
            raise JobError("no_build_tools", message, log_tail=ended.output.tail())
        return folder

    def _copy(self, base: Base, folder: Path) -> None:
        """Copy base's environment, as if it had been made here, without base's own code."""
        assert base.environment is not None
        source = base.environment.path
        argv = ["cp", "-a", "--reflink=auto", "--", str(source), str(folder)]
        ended = self._environments.run_trusted(argv, folder.parent)
        if not ended.ok:
            message = "base's environment cannot be copied"
            raise JobError("agent_fault", message, log_tail=ended.output.tail())
        (folder / RECORD).unlink()
        _move(source, folder)
        for info in distributions(folder):
            if comes_from(info, base.checkout):
                _uninstall(info)

    def _set_up(self, folder: Path, checkout: Path, suite: SuiteSpec, tools: Path | None) -> None:
        home = self._new_home()
        self._sandbox.give(folder, checkout, home)
        variables = {**self._variables(home), **OFFLINE, "PIP_CACHE_DIR": str(home / "pip")}
        variables["UV_CACHE_DIR"] = str(home / "uv")
        if tools is not None:
            variables["PYTHONPATH"] = str(tools)
        uv = [Path(self._uv), Path(self._uv).resolve()] if self._uv else []
        confinement = Confinement(
            self._sandbox,
            readable=[checkout / ".git", *([tools] if tools else []), *uv],
            writable=[folder, checkout, home],
        )

        def run(argv: list[str], env: dict[str, str], timeout_s: float) -> Ended:
            return self._runner.run(Program(argv, env, checkout, timeout_s, confinement=confinement))

        Build(run, judge=build_failed).set_up(folder, variables, suite)


def build_failed(command: str, ended: Ended, log_tail: str) -> ArmError | JobError:
    """Return what the failure of a stranger's set-up command means."""
    if WANTS_NETWORK.search(ended.output.text):
        message = (
            f"set-up command {command!r} of the untrusted commit seems to need a network: untrusted code is built "
            "without one, and can only use what base's set-up installs"
        )
        return JobError("untrusted_needs_network", message, retryable=False, log_tail=log_tail)
    return ArmError("build_failed", f"{ended.reason}: set-up command {command!r}", log_tail)


def build_tools(folders: list[Path]) -> list[str]:
    """Return the requirements that trusted projects in these folders are built with, each once."""
    wanted: dict[str, None] = {}
    for folder in dict.fromkeys(folders):
        wanted |= dict.fromkeys(_tools_of(folder))
    return list(wanted)


def _tools_of(folder: Path) -> list[str]:
    try:
        settings: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return list(DEFAULT_TOOLS) if (folder / "setup.py").is_file() else []
    except (OSError, ValueError):
        return []
    system = settings.get("build-system")
    if isinstance(system, dict):
        return [
            word for word in system.get("requires", []) if isinstance(word, str) and not word.startswith("-")
        ]
    return list(DEFAULT_TOOLS) if "project" in settings or (folder / "setup.py").is_file() else []


def _move(source: Path, folder: Path) -> None:
    """Have the scripts of a copied environment name the copy; both names have one length."""
    for path in [folder / "pyvenv.cfg", *(folder / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            moved = content.replace(os.fsencode(source), os.fsencode(folder))
            if moved != content:
                path.write_bytes(moved)


def _uninstall(info: Path) -> None:
    """Remove an installed distribution by its own list of files; what lies outside of the environment stays."""
    site = info.parent
    for line in (info / "RECORD").read_text(errors="replace").splitlines():
        path = Path(os.path.normpath(site / line.rpartition(",")[0].rpartition(",")[0].strip('"')))
        if path.is_relative_to(site.parents[2]) and path.is_file():
            path.unlink()
    remove_tree(info)
