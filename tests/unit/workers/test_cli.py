import os
import signal
import threading

import pytest

from workers import cli
from workers.errors import InUseError, UnreachableError, UsageError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("RATCHET_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RATCHET_TOKEN", "token")
    monkeypatch.setenv("RATCHET_WORKER_LOCKS", str(tmp_path))


@pytest.fixture
def configs(monkeypatch):
    """The configurations that agents would have been started with."""
    seen = []
    monkeypatch.setattr(cli, "run", seen.append)
    return seen


def test_options_and_environment_become_the_configuration(configs, monkeypatch, tmp_path):
    (tmp_path / "token").write_text("from-file\n")
    monkeypatch.setenv("RATCHET_WORKER_NAME", "edge-7")
    monkeypatch.setenv("RATCHET_REDIS_URL", "redis://broker/0")
    monkeypatch.setenv("RATCHET_SIMULATED", str(tmp_path / "devices.json"))
    arguments = ["--url", "https://ratchet.example/", "--token-file", str(tmp_path / "token"), "--once"]
    assert (
        cli.run_command(
            [*arguments, "--kind", "cpu", "--kind", "simulated", "--data-dir", str(tmp_path / "data")]
        )
        == 0
    )
    (config,) = configs
    assert (config.url, config.token, config.name) == ("https://ratchet.example", "from-file", "edge-7")
    assert (config.kinds, config.data_dir, config.once) == (("cpu", "simulated"), tmp_path / "data", True)
    assert (config.redis_url, config.script, config.lock_dir) == (
        "redis://broker/0",
        tmp_path / "devices.json",
        tmp_path,
    )


def test_an_agent_needs_nothing_but_a_token(configs):
    assert cli.run_command([]) == 0
    (config,) = configs
    assert (config.kinds, config.name, config.redis_url) == (("cpu",), os.uname().nodename, None)


def test_the_configuration_does_not_show_its_token(configs):
    cli.run_command([])
    assert "token'" not in repr(configs[0])


@pytest.mark.parametrize(
    "arguments",
    [["--kind", "quantum"], ["--no-such-option"], ["extra"], ["--environments-max-gb", "-1"]],
)
def test_wrong_options_are_wrong_usage(configs, arguments):
    assert cli.run_command(arguments) == 64
    assert configs == []


@pytest.mark.parametrize("token", ["", "  ", "with\nnewline"])
def test_a_missing_token_is_wrong_usage(configs, monkeypatch, capsys, token):
    monkeypatch.setenv("RATCHET_TOKEN", token)
    assert cli.run_command([]) == 64
    assert "RATCHET_TOKEN" in capsys.readouterr().err


def test_a_token_file_that_is_not_there_is_wrong_usage(configs, capsys, tmp_path):
    assert cli.run_command(["--token-file", str(tmp_path / "none")]) == 64
    assert str(tmp_path / "none") in capsys.readouterr().err


@pytest.mark.parametrize("url", ["service:8440", "ftp://service", "http://"])
def test_an_address_that_is_none_is_wrong_usage(capsys, url):
    assert cli.run_command(["--url", url]) == 64
    assert url in capsys.readouterr().err


def test_simulated_devices_without_a_script_are_wrong_usage(capsys, tmp_path):
    assert cli.run_command(["--kind", "simulated", "--data-dir", str(tmp_path)]) == 64
    assert "RATCHET_SIMULATED" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("bad"), 64),
        (InUseError("taken"), 75),
        (UnreachableError("away"), 70),
        (OSError("disk"), 70),
        (ZeroDivisionError("bug"), 70),
    ],
)
def test_an_error_has_its_exit_status(monkeypatch, error, status):
    def fail(_):
        raise error

    monkeypatch.setattr(cli, "run", fail)
    assert cli.run_command([]) == status


def test_help_and_version_succeed(capsys):
    assert cli.run_command(["--help"]) == 0
    assert cli.run_command(["--version"]) == 0
    assert "ratchet-worker" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_agent(number):
    stopped = threading.Event()
    with cli.stopping_on_signals(stopped.set):
        os.kill(os.getpid(), number)
        assert stopped.wait(60)


def test_without_a_signal_nothing_is_stopped_and_handlers_are_restored():
    before = signal.getsignal(signal.SIGTERM)
    stopped = threading.Event()
    with cli.stopping_on_signals(stopped.set):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert not stopped.is_set()
