import gzip
import os
import shutil
from pathlib import Path

import pytest

from workers.readings import folder
from workers.readings.folder import UNKNOWN, read_folder

FIXTURES = Path(__file__).parents[3] / "data" / "devices"
QUERY = FIXTURES / "nvidia-smi" / "driver470-query.txt"
TEGRA = FIXTURES / "tegrastats" / "nano_jetpack4.txt"
CAPTURED = "nvidia-smi", "query-text"


def read(path):
    return {file.name: file for file in read_folder(path)}


def told(file):
    return [(recording.tool, recording.form) for recording in file.recordings]


# --- what is found ---


def test_files_are_known_by_content_whatever_their_names_and_places(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    shutil.copy(QUERY, tmp_path / "deep" / "er" / "notes.docx")
    shutil.copy(TEGRA, tmp_path / "nvidia-smi.xml")
    found = read(tmp_path)
    assert list(found) == ["deep/er/notes.docx", "nvidia-smi.xml"]
    assert told(found["deep/er/notes.docx"]) == [CAPTURED]
    assert told(found["nvidia-smi.xml"]) == [("tegrastats", "lines")]


def test_a_single_file_is_read_as_a_folder_of_one():
    assert told(read(QUERY)[QUERY.name]) == [CAPTURED]


def test_a_gzip_file_in_another_encoding_is_read(tmp_path):
    (tmp_path / "dump").write_bytes(gzip.compress(QUERY.read_text().encode("utf-16")))
    assert told(read(tmp_path)["dump"]) == [CAPTURED]


def test_the_log_of_a_bug_report_gives_what_nvidia_smi_said_and_nothing_of_its_other_parts(tmp_path):
    rule = "_" * 44
    other = "*** /proc/driver/nvidia/gpus/0/information\n    Fan Speed                         : 77 %\n"
    parts = [
        "Start of NVIDIA bug report log file.\n",
        f"/usr/bin/nvidia-smi --query\n\n{QUERY.read_text()}",
        other,
    ]
    (tmp_path / "report.log").write_text("".join(f"{rule}\n\n{part}\n" for part in parts))
    (recording,) = read(tmp_path)["report.log"].recordings
    (alone,) = read(QUERY)[QUERY.name].recordings
    assert recording.devices == alone.devices


def test_lines_behind_the_prefix_of_a_log_collector_are_read(tmp_path):
    lines = TEGRA.read_text().splitlines()
    (tmp_path / "pods.log").write_text("".join(f"[pod/watch/tegrastats] {line}\n" for line in lines))
    (recording,) = read(tmp_path)["pods.log"].recordings
    assert recording.devices == read(TEGRA)[TEGRA.name].recordings[0].devices


def test_an_output_that_tells_of_no_device_is_known_all_the_same():
    (file,) = read_folder(FIXTURES / "rocminfo" / "no-gpu-6.3.txt")
    assert [recording.devices for recording in file.recordings] == [[]]
    assert file.trouble == ""


def test_an_empty_folder_has_no_files(tmp_path):
    assert read(tmp_path) == {}


# --- what is not ---


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\x7fELF\x00\x01\x02", b"[" * 100_000, b"\n" * 100_000]
)
def test_what_is_no_output_is_said_to_be_none(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    file = read(tmp_path)["file"]
    assert (file.recordings, file.trouble) == ((), UNKNOWN)


def test_an_output_that_was_cut_before_its_first_device_is_named_with_the_place(tmp_path):
    (tmp_path / "cut.txt").write_text(QUERY.read_text()[:120])
    assert "line" in read(tmp_path)["cut.txt"].trouble


def test_an_archive_is_named(tmp_path):
    shutil.make_archive(str(tmp_path / "dump"), "tar", FIXTURES / "nvpmodel")
    assert read(tmp_path)["dump.tar"].trouble == "an archive (tar); unpack it first"


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert read(tmp_path)["pipe"].trouble == "no regular file"
    assert read(tmp_path / "pipe")["pipe"].trouble == "no regular file"


def test_links_to_folders_are_not_followed_so_that_a_loop_ends(tmp_path):
    shutil.copy(QUERY, tmp_path / "file")
    (tmp_path / "loop").symlink_to(tmp_path)
    found = read(tmp_path)
    assert found["loop"].trouble == "a link to a folder, which is not followed"
    assert told(found["file"]) == [CAPTURED]


def test_a_link_to_a_file_is_that_file(tmp_path):
    (tmp_path / "link").symlink_to(QUERY)
    assert told(read(tmp_path)["link"]) == [CAPTURED]


def test_a_link_to_nothing_is_named(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert read(tmp_path)["link"].trouble == "a link to nothing"


def test_a_file_that_is_too_large_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "LARGEST_B", 100)
    shutil.copy(QUERY, tmp_path / "file")
    assert "larger than" in read(tmp_path)["file"].trouble


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, monkeypatch):
    shutil.copy(QUERY, tmp_path / "file")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert read(tmp_path)["file"].trouble == "cannot be read: Permission denied"


def test_a_folder_below_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "secret").mkdir()
    shutil.copy(QUERY, tmp_path / "file")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = read(tmp_path)
    assert found["secret"].trouble == "cannot be read: Permission denied"
    assert told(found["file"]) == [CAPTURED]


def test_a_folder_that_cannot_be_read_raises(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError):
        read(tmp_path)


def test_a_fault_of_a_reader_hides_no_other_file(tmp_path, monkeypatch):
    for name in ("a", "b"):
        shutil.copy(QUERY, tmp_path / name)
    whole = folder.read
    answers = iter([ZeroDivisionError("of the reader"), None])

    def fail_once(text):
        error = next(answers)
        if error:
            raise error
        return whole(text)

    monkeypatch.setattr(folder, "read", fail_once)
    found = read(tmp_path)
    assert found["a"].trouble == "a fault of Ratchet, please report it: ZeroDivisionError: of the reader"
    assert told(found["b"]) == [CAPTURED]


def test_names_that_are_no_text_are_made_text(tmp_path):
    shutil.copy(QUERY, os.path.join(os.fsencode(tmp_path), b"bad\xff.txt").decode(errors="surrogateescape"))
    assert list(read(tmp_path)) == ["bad\ufffd.txt"]
