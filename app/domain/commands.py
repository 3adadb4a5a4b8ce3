"""What people ask of Ratchet in a pull request's comments: `/ratchet rerun`, `/ratchet accept REASON`."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "/ratchet"
MOST_REASON = 500


@dataclass(frozen=True)
class Rerun:
    """Measure this head again."""


@dataclass(frozen=True)
class Accept:
    """The change is wanted although it is slower; `reason` says why."""

    reason: str


@dataclass(frozen=True)
class Help:
    """Say what can be asked; `trouble` is why it was not understood."""

    trouble: str = ""


Command = Rerun | Accept | Help

USAGE = (
    ("/ratchet rerun", "measures this head again"),
    (
        "/ratchet accept REASON",
        "lets the check pass although something is worse or open, and once it is merged accepts what it was told; "
        "who said so and why is recorded",
    ),
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
    if verb == "help":
        return Help()
    if verb == "rerun":
        if rest:
            return Help("`rerun` measures all suites: one alone would hide what the others said")
        return Rerun()
    if verb == "accept":
        reason = " ".join(rest)[:MOST_REASON]
        return Accept(reason) if reason else Help("`accept` needs a reason, for whoever asks later")
    return Help("there is no such command")
