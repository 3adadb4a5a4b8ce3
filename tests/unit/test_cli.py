"""The command line as a whole: every command that `--help` names is there and explains itself."""

from __future__ import annotations

import pytest

from app.cli import COMMANDS, USAGE, run


@pytest.mark.parametrize("name", COMMANDS)
def test_every_named_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"ratchet {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["nosuch"], ["check", "--base", "a"], ["up", "--port", "many"]])
def test_wrong_usage_is_status_64(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == USAGE
    assert "Error" in capsys.readouterr().err
