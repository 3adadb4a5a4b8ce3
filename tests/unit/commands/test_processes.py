"""The deployment's processes where the addresses they are given are wrong or nobody answers there."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import FAULT, USAGE, run

NOBODY = "postgresql://ratchet:secret@127.0.0.1:1/ratchet"
REDIS = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("RATCHET_DATABASE_URL", NOBODY)
    monkeypatch.setenv("RATCHET_REDIS_URL", REDIS)
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize(
    "command",
    [["api"], ["migrate"], ["setup", "--token-dir", "tokens"], ["up", "--worker", "none", "--port", "0"]],
    ids=" ".join,
)
def test_a_database_that_is_away_is_said_in_a_sentence(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == FAULT
    said = capsys.readouterr().err.strip().rpartition("\n")[2]
    assert said.startswith("ratchet: the database does not answer: ")
    assert "port 1" in said
    assert said.endswith("Is it up, and does RATCHET_DATABASE_URL name it?")


@pytest.mark.parametrize("command", ["api", "up", "demo"])
@pytest.mark.parametrize("port", ["-1", "65536", "many"])
def test_a_port_that_there_is_not_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], command: str, port: str
) -> None:
    assert run([command, "--port", port]) == USAGE
    assert "--port" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["api", "tasks", "migrate"])
@pytest.mark.parametrize(
    "address", ["nonsense", "mysql://ratchet:secret@host/db", "postgresql://ratchet:secret@host:port/db"]
)
def test_an_address_of_no_postgresql_is_wrong_usage_and_its_password_is_kept(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, address: str
) -> None:
    environment.setenv("RATCHET_DATABASE_URL", address)
    assert run([command]) == USAGE
    said = capsys.readouterr().err
    assert "postgresql://user:password@host:5432/database" in said
    assert "secret" not in said


@pytest.mark.parametrize("command", ["api", "tasks", "beat"])
def test_an_address_of_no_redis_is_wrong_usage(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    environment.setenv("RATCHET_REDIS_URL", "amqp://guest:secret@host")
    assert run([command]) == USAGE
    said = capsys.readouterr().err
    assert "RATCHET_REDIS_URL: " in said
    assert "redis://host:6379/0" in said
    assert "secret" not in said
