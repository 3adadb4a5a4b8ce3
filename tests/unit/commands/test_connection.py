"""Which service a command speaks to, and whether that one can read the commits where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli import USAGE, run
from app.commands import connection
from app.domain.errors import UsageError

OURS = "http://127.0.0.1:8440"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data folder of its own, on which a service runs at `OURS`."""
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("RATCHET_TOKEN", raising=False)
    monkeypatch.setattr(connection, "connection_of", lambda data: (OURS, "secret"))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("url", "reads_paths"),
    [
        pytest.param(None, True, id="the service of the data folder"),
        pytest.param(f"{OURS}/", True, id="its address"),
        pytest.param("http://localhost:9000", False, id="containers behind a port of this machine"),
        pytest.param("https://ratchet.example", False, id="another machine"),
    ],
)
def test_only_the_service_on_our_own_data_folder_reads_our_paths(url, reads_paths, monkeypatch):
    monkeypatch.delenv("RATCHET_URL", raising=False)
    if url:
        monkeypatch.setenv("RATCHET_URL", url)
    with connection.service_for_call(lambda text: None) as client:
        assert client.reads_paths is reads_paths


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("url", "sent"), [(OURS, "Bearer secret"), ("https://ratchet.example", None)])
def test_the_token_of_our_own_data_folder_is_shown_to_no_other_service(url, sent, monkeypatch):
    monkeypatch.setenv("RATCHET_URL", url)
    with connection.service_for_call(lambda text: None) as client:
        assert client._http.headers.get("Authorization") == sent


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "url",
    [
        "foo",
        "ftp://host",
        "http://",
        "127.0.0.1:8440",
        "http://[::1",
        "http://h:port",
        "http://h:99999",
        "http://a..b",
    ],
)
def test_an_address_of_no_service_is_wrong_usage(url, monkeypatch):
    monkeypatch.setenv("RATCHET_URL", url)
    with pytest.raises(UsageError, match=r"RATCHET_URL=.* right is http://host:8440"):
        connection.service_for_call(lambda text: None).__enter__()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("token", ["hush\n", " hush\r\n"])
def test_blanks_around_a_token_are_none_of_it(token, monkeypatch):
    monkeypatch.setenv("RATCHET_URL", f" {OURS}\n")
    monkeypatch.setenv("RATCHET_TOKEN", token)
    with connection.service_for_call(lambda text: None) as client:
        assert client._http.headers["Authorization"] == "Bearer hush"
    assert client.url == OURS


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("token", ["hush\nhush", "hüsh", "hush hush", "hush\udcff"])
@pytest.mark.parametrize("url", [OURS, None])
def test_what_is_no_token_is_wrong_usage_and_not_shown(url, token, monkeypatch, capsys):
    monkeypatch.delenv("RATCHET_URL", raising=False)
    if url:
        monkeypatch.setenv("RATCHET_URL", url)
    monkeypatch.setenv("RATCHET_TOKEN", token)
    assert run(["runs"]) == USAGE
    told = capsys.readouterr().err
    assert told.startswith("ratchet: RATCHET_TOKEN holds no token: right is one line of ASCII")
    assert "sh" not in told


@pytest.mark.usefixtures("folder")
def test_a_word_that_no_text_can_have_is_wrong_usage(monkeypatch, capsys):
    monkeypatch.setenv("RATCHET_URL", OURS)
    assert run(["history", "\udcff"]) == USAGE
    assert "no question that can be sent" in capsys.readouterr().err


def test_a_kind_of_device_that_is_none_is_refused_before_a_service_is_started(monkeypatch, tmp_path):
    monkeypatch.delenv("RATCHET_URL", raising=False)
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RATCHET_WORKER_KIND", "nope")
    with pytest.raises(UsageError, match="'nope' is no kind of device; there are: amd, cpu"):
        connection.service_for_call(lambda text: None).__enter__()
    assert not (tmp_path / "data").exists()
