"""Which level of isolation this agent can really give: found out by a program that looks around in a sandbox.

Nothing is believed that was not tried. One expectation that does not hold makes the level 0, with the reason.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.keeper import Kept
from workers.programs.sandbox import inside
from workers.programs.sandbox.bubblewrap import OUTSIDE, Confinement, Sandbox, find_sandbox, python_folders

log = logging.getLogger(__name__)

PROBE_S = 20.0
NAMESPACES = ("pid", "net", "ipc", "uts", "mnt")
MOST_PROCESSES = 5
"""Bubblewrap's own and the probe's; more would be the host's."""

REFUSED = ("EPERM", "EACCES")
AWAY = ("ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL")

Seen = dict[str, Any]


@dataclass(frozen=True)
class Isolation:
    """What an agent can give: the level, the means for it, and why it is no more."""

    level: int
    sandbox: Sandbox | None = None
    reason: str = ""


def probe(data_dir: Path, token_file: Path | None = None) -> Isolation:
    """Return the level of isolation that this machine gives the programs of an agent with this data folder."""
    sandbox = find_sandbox()
    if isinstance(sandbox, str):
        return Isolation(0, reason=sandbox)
    try:
        reason = probe_sandbox(sandbox, data_dir, token_file)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = f"a program could not be run in a sandbox: {error}"
    return Isolation(0, reason=reason) if reason else Isolation(sandbox.level, sandbox)


def probe_sandbox(sandbox: Sandbox, data_dir: Path, token_file: Path | None = None) -> str:
    """Return what a program in this sandbox sees or may do that it must not; empty if all is well.

    Raises:
        OSError, ValueError, subprocess.SubprocessError: it could not be run, or said nothing that can be read.
    """
    with _files(data_dir) as (folder, secret), _listening() as (port, name):
        sandbox.give(folder)
        hidden = [str(path) for path in (secret, token_file) if path is not None]
        home = Path.home()
        asked = {
            "port": port,
            "socket": name,
            "hidden": hidden,
            "folders": [str(data_dir), str(home)],
            "sealed": ["/", "/usr", "/etc", "/dev", *map(str, python_folders())],
            "writable": str(folder),
            "process": os.getpid(),
            "namespaces": NAMESPACES,
        }
        seen = _look(sandbox, folder, asked)
        bound = [folder, Path(inside.__file__), *python_folders()]
    return "; ".join(_complaints(seen, sandbox, [(data_dir, bound), (home, bound)]))


def _look(sandbox: Sandbox, folder: Path, asked: Seen) -> Seen:
    script = Path(inside.__file__)
    confined = Confinement(sandbox, readable=[script], writable=[folder])
    python = str(getattr(sys, "_base_executable", sys.executable))
    argv = [python, "-I", "-S", str(script), json.dumps(asked)]
    with sandbox.command(argv, {"HOME": str(folder)}, folder, confined) as command:
        kept = Kept(
            command.argv,
            cwd="/",
            env=OUTSIDE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=command.fds,
        )
    with kept:
        kept.wait(PROBE_S)
        assert kept.stdout is not None
        said = kept.stdout.read().decode(errors="replace").strip()
    try:
        found = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        raise ValueError(said[-500:] or "it said nothing") from None
    if not isinstance(found, dict):
        raise ValueError(said[-500:])
    return found


def _complaints(
    seen: Seen, sandbox: Sandbox, folders: Sequence[tuple[Path, Sequence[Path]]]
) -> Iterator[str]:
    """Yield what is not as it has to be."""
    for name in NAMESPACES:
        if seen["namespaces"][name] == os.readlink(f"/proc/self/ns/{name}"):
            yield f"it shares the host's {name} namespace"
    if seen["interfaces"] != ["lo"] or seen["routes"]:
        yield f"it has a network: {seen['interfaces']}, {seen['routes']} routes"
    for way in ("loopback", "abstract", "outwards"):
        if seen[way] not in AWAY:
            yield f"a connection ({way}) ended with {seen[way]}"
    if seen["read"]:
        yield f"it sees {', '.join(seen['read'])}"
    for folder, bound in folders:
        if extra := set(seen["folders"][str(folder)]) - _on_the_way(folder, bound):
            yield f"it sees {', '.join(sorted(extra))} in {folder}"
    if seen["writable"] or seen["workspace"] is not None:
        yield f"it may write {seen['writable']}, and its own folder answered {seen['workspace']}"
    if seen["signalled"] != "ESRCH" or seen["processes"] > MOST_PROCESSES:
        yield f"it sees processes of the host: {seen['processes']}, {seen['signalled']}"
    status = seen["status"]
    if int(status["CapEff"], 16) or int(status["CapBnd"], 16) or status["NoNewPrivs"] != "1":
        yield f"it has privileges, or may gain some: {status}"
    if sandbox.user is not None and seen["user"] != sandbox.user:
        yield f"it runs as user {seen['user']}"
    allowed = [name for name in ("unshare", "mount", "ptrace") if seen[name] not in REFUSED]
    if status["Seccomp"] != "2" or allowed:
        yield f"the filter of system calls does not hold: {allowed}"


def _on_the_way(folder: Path, bound: Sequence[Path]) -> set[str]:
    """Return the names in a folder that lead to what was bound."""
    return {
        path.relative_to(folder).parts[0] for path in bound if path != folder and path.is_relative_to(folder)
    }


@contextmanager
def _files(data_dir: Path) -> Iterator[tuple[Path, Path]]:
    """Give a folder for the program to write in, and a file that is a secret of the agent's."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".probe-", dir=data_dir) as folder:
        Path(folder).chmod(0o711)  # so that the secret could be seen from outside of the folder
        workspace, secret = Path(folder) / "workspace", Path(folder) / "secret"
        workspace.mkdir()
        secret.write_text("secret")
        yield workspace, secret


@contextmanager
def _listening() -> Iterator[tuple[int, str]]:
    """Give the port of a listener on the host's loopback, and the name of one that is no file."""
    name = f"ratchet-{secrets.token_hex(8)}"
    with socket.socket() as inet, socket.socket(socket.AF_UNIX) as abstract:
        inet.bind(("127.0.0.1", 0))
        inet.listen()
        abstract.bind("\0" + name)
        abstract.listen()
        yield inet.getsockname()[1], name
