"""Looks out of a sandbox and prints what it sees as one line of JSON; run by path, with the standard library alone.

    python -I -S inside.py REQUEST

REQUEST is JSON: `port` of a listener on the host's loopback, `socket` the name of an abstract one, `hidden` files that
must not be there, `folders` of which the content is told, `sealed` folders that must not be written, `writable` the one
to write in, `process` a process of the host. What succeeds here leaves nothing behind on the host.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

CLONE_NEWUSER = 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)


def failure(attempt: Callable[..., object], *arguments: object) -> str | None:
    """Return the name of the error that an attempt fails with, None if it succeeds."""
    try:
        attempt(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return None


def called(name: str, *arguments: object) -> None:
    """Call a function of the C library; raise OSError as Python's own functions do."""
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def connected(family: int, address: str | tuple[str, int]) -> None:
    """Connect to an address."""
    with socket.socket(family, socket.SOCK_STREAM) as its:
        its.settimeout(2)
        its.connect(address)


def written(path: str) -> None:
    """Write a file."""
    with open(path, "w") as file:
        file.write("x")


def listed(folder: str) -> list[str]:
    """Return what is seen in a folder; nothing where it is not there."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def status() -> dict[str, str]:
    """Return the lines of this process's status that say what it may do."""
    with open("/proc/self/status") as lines:
        parts = (line.split(":", 1) for line in lines)
        wanted = ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")
        return {name: value.strip() for name, value in parts if name in wanted}


def main(asked: dict[str, Any]) -> None:
    """Try everything and print what came of it."""
    with open("/proc/net/route") as file:
        routes = len(file.read().splitlines()) - 1
    found = {
        "user": os.getuid(),
        "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in asked["namespaces"]},
        "interfaces": [name for _, name in socket.if_nameindex()],
        "routes": routes,
        "loopback": failure(connected, socket.AF_INET, ("127.0.0.1", asked["port"])),
        "abstract": failure(connected, socket.AF_UNIX, "\0" + asked["socket"]),
        "outwards": failure(connected, socket.AF_INET, ("192.0.2.1", 9)),
        "read": [path for path in asked["hidden"] if os.path.exists(path)],
        "folders": {folder: listed(folder) for folder in asked["folders"]},
        "writable": [path for path in asked["sealed"] if not os.statvfs(path).f_flag & os.ST_RDONLY],
        "workspace": failure(written, os.path.join(asked["writable"], "x")),
        "signalled": failure(os.kill, asked["process"], 0),
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "unshare": failure(called, "unshare", CLONE_NEWUSER),
        "mount": failure(called, "mount", b"none", b"/tmp", b"tmpfs", 0, None),
        "ptrace": failure(called, "ptrace", 0, 0, 0, 0),
        "status": status(),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
