"""`ratchet devices`, on simulated devices and on recordings."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import run
from workers.devices import KINDS

FIXTURES = Path(__file__).parents[2] / "data" / "devices"
OK, USAGE, DATA = 0, 64, 65


@pytest.fixture
def simulated(tmp_path, monkeypatch):
    """A machine that has two simulated devices and nothing else."""
    script = tmp_path / "devices.json"
    script.write_text(
        json.dumps(
            [{"class": "sim-a100", "hardware_id": f"sim-{n}", "telemetry": {"temp_c": 40}} for n in range(2)]
        )
    )
    monkeypatch.setenv("RATCHET_SIMULATED", str(script))
    only(monkeypatch, "simulated")


def only(monkeypatch, *kinds):
    for kind in KINDS.keys() - set(kinds):
        monkeypatch.setattr(KINDS[kind], "detect", classmethod(lambda cls, host: []))
        monkeypatch.setattr(KINDS[kind], "absent", classmethod(lambda cls: None))


def outcome(capsys, *arguments):
    """Return the exit status, and what was printed on standard output and error."""
    status = run(["devices", *map(str, arguments)])
    return status, *capsys.readouterr()


# --- this machine ---


@pytest.mark.usefixtures("simulated")
def test_a_machine_is_a_table_of_its_devices(capsys):
    status, out, err = outcome(capsys)
    assert (status, err) == (OK, "")
    assert out.splitlines()[0].split()[:2] == ["#", "Device"]
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["sim-a100", "sim-a100"]
    assert "40 °C" in out


@pytest.mark.usefixtures("simulated")
def test_a_machine_is_one_json_document(capsys):
    status, out, _ = outcome(capsys, "--json")
    document = json.loads(out)
    assert status == OK
    assert set(document) == {"version", "source", "devices", "absent", "untold", "unread"}
    assert [device["hardware_id"] for device in document["devices"]] == ["sim-0", "sim-1"]


def test_a_script_of_simulated_devices_that_is_not_there_is_wrong_usage(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RATCHET_SIMULATED", str(tmp_path / "gone.json"))
    only(monkeypatch, "simulated")
    status, out, err = outcome(capsys)
    assert (status, out) == (USAGE, "")
    assert err.startswith("ratchet: RATCHET_SIMULATED: ")
    assert "Traceback" not in err


# --- recordings ---


@pytest.fixture
def dump(tmp_path):
    shutil.copy(FIXTURES / "nvidia-smi" / "driver470-query.txt", tmp_path / "a.txt")
    shutil.copy(FIXTURES / "tegrastats" / "nano_jetpack4.txt", tmp_path / "b")
    (tmp_path / "c.md").write_text("notes\n")
    return tmp_path


def test_recordings_are_a_table_a_tool(capsys, dump):
    status, out, err = outcome(capsys, "--from", dump)
    assert (status, err) == (OK, "")
    assert out.startswith("2 of 3 files are outputs of device tools: nvidia-smi and tegrastats\n")


def test_recordings_are_one_json_document_that_names_their_sources(capsys, dump):
    _, out, _ = outcome(capsys, "--from", dump, "--json")
    document = json.loads(out)
    assert document["source"] == str(dump)
    assert {device["source"]["file"] for device in document["devices"]} == {"a.txt", "b"}
    assert [one["file"] for one in document["unread"]] == ["c.md"]


def test_a_single_file_will_do(capsys, dump):
    status, out, _ = outcome(capsys, "--from", dump / "b")
    assert (status, out.splitlines()[0]) == (OK, "1 of 1 file is an output of tegrastats")


def test_an_output_that_tells_of_no_device_is_one_all_the_same(capsys):
    status, out, _ = outcome(capsys, "--from", FIXTURES / "rocminfo" / "no-gpu-6.3.txt")
    assert status == OK
    assert "it tells of no device" in out


@pytest.mark.parametrize("name", ["gone", ""])
def test_a_folder_that_is_not_there_is_wrong_usage(capsys, tmp_path, name):
    status, out, err = outcome(capsys, "--from", tmp_path / name if name else "")
    assert (status, out) == (USAGE, "")
    assert err.startswith("ratchet: --from: there is no ")


def test_an_empty_folder_is_bad_input(capsys, tmp_path):
    status, _, err = outcome(capsys, "--from", tmp_path)
    assert (status, err) == (
        DATA,
        f"ratchet: --from: no output of a known device tool in {tmp_path}: it holds no file\n",
    )


def test_a_folder_without_outputs_is_bad_input_and_says_what_is_there_instead(capsys, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("notes\n")
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    status, out, err = outcome(capsys, "--from", tmp_path)
    assert (status, out) == (DATA, "")
    assert err.endswith(": broken: a link to nothing; 2 other files are none\n")


def test_a_pipe_is_bad_input_and_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    status, _, err = outcome(capsys, "--from", tmp_path / "pipe")
    assert status == DATA
    assert err.endswith(": pipe: no regular file\n")


def test_a_folder_that_cannot_be_read_is_bad_input(capsys, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    assert outcome(capsys, "--from", tmp_path)[0] == DATA


def test_names_and_words_of_recordings_reach_neither_terminal_nor_json_as_control_characters(
    capsys, tmp_path
):
    evil = "a\x1b[2J\x9b31m\u202e.txt"
    text = (FIXTURES / "nvidia-smi" / "list-mig.txt").read_text().replace("GPU 0: ", f"GPU 0: {evil} ", 1)
    (tmp_path / evil).write_text(text)
    (tmp_path / f"other {evil}").symlink_to(tmp_path / "gone")
    for arguments in ((), ("--json",)):
        status, out, err = outcome(capsys, "--from", tmp_path, *arguments)
        assert (status, err) == (OK, "")
        assert all(char.isprintable() or char == "\n" for char in out)
    assert json.loads(out)["devices"][0]["source"]["file"] == evil


def test_the_help_says_how_it_ends(capsys):
    status, out, _ = outcome(capsys, "--help")
    assert status == OK
    assert "64" in out
    assert "65" in out


def test_looking_at_a_machine_needs_no_numbers_library():
    program = (
        "import sys; from app.cli import run; run(['devices', '--json']);"
        " print([name for name in ('numpy', 'scipy', 'sqlalchemy', 'fastapi') if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.stderr.splitlines()[-1] == "[]"
    assert json.loads(ended.stdout)["source"] == "machine"
