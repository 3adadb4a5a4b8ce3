"""Commits are fetched by git, with a token for that one repository."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from app.domain.errors import UnavailableError
from app.integrations.forge import ForgeLacksError

FETCH_S = 900.0
"""How long a fetch may take [s]."""

QUEUES = "refs/heads/gh-readonly-queue/*"
"""Branches that merge queues make, of forks' commits too: none of the repository's own."""


def fetch_refs(address: str, token: str, into: Path, refs: Mapping[str, str]) -> None:
    """Bring refs into a bare repository; the token is in no file and on no command line.

    Raises ForgeLacksError where a ref is not there, UnavailableError where it could not be fetched.
    """
    into.parent.mkdir(parents=True, exist_ok=True)
    _git(["init", "--quiet", "--bare", str(into)], {})
    wanted = [f"+{theirs}:{ours}" for theirs, ours in refs.items()]
    prune = []
    if any("*" in ref for ref in refs):
        # Of all that a pattern brought, what is gone goes: its name may be in the way of another.
        prune, wanted = ["--prune"], [*wanted, f"^{QUEUES}"]
    _git(
        ["-C", str(into), "fetch", "--quiet", "--no-tags", *prune, address, *wanted],
        _authorized(address, token),
    )


def _authorized(address: str, token: str) -> dict[str, str]:
    """Return git's settings for a fetch with the token: from the environment, which no other user can read.

    A server that gives next to nothing is not waited for.
    """
    known = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}
    if token:
        encoded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        known[f"http.{address}.extraHeader"] = f"Authorization: Basic {encoded}"
    told = {"GIT_CONFIG_COUNT": str(len(known))}
    for number, (name, value) in enumerate(known.items()):
        told |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return told


def _git(arguments: list[str], env: dict[str, str]) -> None:
    quiet = {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    try:
        done = subprocess.run(
            ["git", *arguments],
            env={**os.environ, **quiet, **env},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"git {arguments[0]}: {error}") from None
    if done.returncode != 0:
        lacks = "couldn't find remote ref" in done.stderr
        kind = ForgeLacksError if lacks else UnavailableError
        raise kind(f"git could not fetch: {done.stderr.strip()[-500:]}")
