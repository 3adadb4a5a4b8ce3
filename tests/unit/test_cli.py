"""The command line as a whole: every command that `--help` names is there and explains itself."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize(
    ("name", "meant"), [("histroy", "history"), ("Check", "check"), ("imports", "import"), ("nosuch", None)]
)
def test_command_that_was_probably_meant_is_named(
    name: str, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name]) == USAGE
    told = capsys.readouterr().err
    assert f"No such command '{name}'" in told
    assert (f"Did you mean '{meant}'?" in told) is (meant is not None)


def test_shell_completes_behind_a_command_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_RATCHET_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "ratchet histroy --")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit) as ended:
        run([])
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


def test_kind_of_device_that_is_none_is_refused_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert run(["up", "--worker", "nope", "--data-dir", str(folder)]) == USAGE
    assert capsys.readouterr().err == (
        "ratchet: 'nope' is no kind of device; there are: amd, cpu, jetson, neuron, nvidia, simulated, tpu, none\n"
    )
    assert not folder.exists()
