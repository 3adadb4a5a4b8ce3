"""What a comment asks for."""

from __future__ import annotations

import pytest

from app.domain.commands import Accept, Approve, Command, Help, Rerun, Run, read_command


@pytest.mark.parametrize(
    ("comment", "command"),
    [
        ("/ratchet rerun", Rerun()),
        ("Thanks!\n\n  /Ratchet  RERUN  slow suite \nbye", Rerun("slow suite")),
        ("/ratchet run slow on my laptop on cpu-*", Run("slow on my laptop", "cpu-*")),
        ("/ratchet approve " + 20 * "aB", Approve(20 * "ab")),
        ("/ratchet approve", Approve()),
        ("/ratchet accept a b", Accept("a b")),
        ("/ratchet", Help()),
    ],
)
def test_what_is_asked_for(comment: str, command: Command) -> None:
    assert read_command(comment) == command


@pytest.mark.parametrize(
    "comment",
    ["/ratchet run", "/ratchet run a on", "/ratchet run on cpu", "/ratchet approve 0123abc", "/ratchet x"],
)
def test_what_is_not_understood_is_answered_with_help(comment: str) -> None:
    command = read_command(comment)
    assert isinstance(command, Help)
    assert command.trouble


@pytest.mark.parametrize("comment", ["", "see /ratchet help", "> /ratchet rerun", "/ratchets rerun"])
def test_what_asks_for_nothing(comment: str) -> None:
    assert read_command(comment) is None
