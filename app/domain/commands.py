"""What people ask of Ratchet in a pull request's comments: `/ratchet rerun`, `/ratchet accept REASON`, and so on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from app.domain.forge import Button

PREFIX = "/ratchet"
APPROVE = f"{PREFIX} approve"
APPROVE_BUTTON = Button("Approve and measure", "Have this very commit measured", "approve")
"""GitHub shows 20 characters of what a button says, and 40 of what it does."""
APPROVING_LABEL = "ratchet:approve"
SETTLED_MIN = 5
"""An approval that names no commit is of one that had waited for so long: what came since may not have been seen."""

MOST_REASON = 500
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Rerun:
    """Measure this head again: one suite, or all of them."""

    suite: str = ""


@dataclass(frozen=True)
class Run:
    """Measure a suite on devices whose class this glob matches, beside what is measured already."""

    suite: str
    device: str


@dataclass(frozen=True)
class Approve:
    """Measure a fork's head: this commit, or the one that the check asked about when it was said."""

    commit: str = ""


@dataclass(frozen=True)
class Accept:
    """The change is wanted although it is slower; `reason` says why."""

    reason: str


@dataclass(frozen=True)
class Help:
    """Say what can be asked; `trouble` is why it was not understood."""

    trouble: str = ""


Command = Rerun | Run | Approve | Accept | Help

USAGE = (
    ("/ratchet rerun [SUITE]", "measures this head again, or one suite of it"),
    ("/ratchet run SUITE on DEVICE", "measures a suite on a device class, such as cpu-*, beside the others"),
    (
        "/ratchet accept REASON",
        "lets the check pass although something is worse or open, and once it is merged accepts what it was told; "
        "who said so and why is recorded",
    ),
    ("/ratchet approve COMMIT", "lets this commit of a fork be measured, and no later one"),
    ("/ratchet help", "says this"),
)
"""What can be asked, and what it does."""


def read_command(comment: str) -> Command | None:
    """Return what a comment asks for: its first line that begins with `/ratchet`; None where there is none."""
    for line in comment.splitlines():
        words = line.split()
        if words and words[0].lower() == PREFIX:
            return _command(words[1:])
    return None


def _command(words: list[str]) -> Command:
    verb = words[0].lower() if words else "help"
    rest = words[1:]
    read = _READERS.get(verb)
    return read(rest) if read else Help("there is no such command")


def _rerun(words: list[str]) -> Command:
    return Rerun(" ".join(words))


def _run(words: list[str]) -> Command:
    if len(words) >= 3 and words[-2].lower() == "on":
        return Run(" ".join(words[:-2]), words[-1])
    return Help("`run` needs a suite and a device class")


def _approve(words: list[str]) -> Command:
    if not words:
        return Approve()
    commit = words[0].lower()
    if len(words) > 1 or not COMMIT.fullmatch(commit):
        return Help("`approve` takes one commit, with all its digits: another may begin with the same")
    return Approve(commit)


def _accept(words: list[str]) -> Command:
    reason = " ".join(words)[:MOST_REASON]
    return Accept(reason) if reason else Help("`accept` needs a reason, for whoever asks later")


_READERS: dict[str, Callable[[list[str]], Command]] = {
    "help": lambda words: Help(),
    "rerun": _rerun,
    "run": _run,
    "approve": _approve,
    "accept": _accept,
}
