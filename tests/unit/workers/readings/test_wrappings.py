import gzip
import io
import zipfile

import pytest

from workers.readings.reader import UnreadableError
from workers.readings.wrappings import decoded, outputs, unpacked, without_prefixes

MIB = 2**20


def zipped():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("output.txt", "text")
    return content.getvalue()


# --- compression and encodings ---


def test_plain_content_stays_as_it_is():
    assert unpacked(b"GPU 0", MIB) == b"GPU 0"


def test_gzip_content_is_unpacked_though_it_is_several_streams():
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two"), MIB) == b"one two"


def test_gzip_content_that_was_cut_is_named_as_broken():
    with pytest.raises(UnreadableError, match="gzip: "):
        unpacked(gzip.compress(b"one" * 1000)[:-9], MIB)


def test_gzip_content_that_grows_beyond_the_limit_is_refused():
    with pytest.raises(UnreadableError, match="larger than 1 MiB once it is unpacked"):
        unpacked(gzip.compress(bytes(MIB + 1)), MIB)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (zipped(), "zip"),
        (b"\xfd7zXZ\x00 and more", "xz"),
        (bytes(257) + b"ustar\x0000", "tar"),
        (gzip.compress(bytes(257) + b"ustar  \x00", mtime=0), "tar"),
    ],
    ids=["zip", "xz", "tar", "tar.gz"],
)
def test_archives_are_named_and_have_to_be_unpacked_first(content, name):
    with pytest.raises(UnreadableError, match=rf"an archive \({name}\); unpack it first"):
        unpacked(content, MIB)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_is_known_in_every_encoding_that_tools_write(encoding):
    assert decoded("GPU 0 at 41 °C\r\nGPU 1\r\r\n".encode(encoding)) == "GPU 0 at 41 °C\nGPU 1\n"


@pytest.mark.parametrize(
    "content", [b"\x7fELF\x02\x01\x01\x00\x00\x00", bytes(64), b"\x00\x01" * 40 + b"\x00\x00"]
)
def test_binary_content_is_no_text(content):
    assert decoded(content) is None


def test_bytes_that_are_no_characters_are_replaced():
    assert decoded(b"35\xb0C\n") == "35\ufffdC\n"


# --- one text, many outputs ---


def test_a_report_of_many_outputs_is_taken_apart_at_its_rules_first():
    rule = "_" * 44
    text = f"{rule}\n\nuname -a\nLinux\n{rule}\n\n/usr/bin/nvidia-smi --query\n"
    assert next(outputs(text)) == ["", "\n\nuname -a\nLinux\n", "\n\n/usr/bin/nvidia-smi --query\n"]


def test_any_other_text_is_one_output():
    assert list(outputs("a\nb\n")) == [["a\nb\n"]]


@pytest.mark.parametrize(
    "prefix",
    [
        "[pod/watch-7x/tegrastats] ",
        "[pod/watch-7x/tegrastats] 2026-11-21T10:00:00.123456789Z ",
        "2026-11-21T10:00:00.123456789Z ",
        "2026-11-21T10:00:00.123456789+01:00 stdout F ",
        "watch-1  | ",
        "\x1b[36mwatch-1  | \x1b[0m",
        "Nov 21 10:00:00 host tegrastats[812]: ",
        "2026-11-21T10:00:00+0100 host tegrastats[812]: ",
    ],
)
def test_prefixes_of_log_collectors_are_taken_off(prefix):
    text = f"{prefix}RAM 1/2MB\n{prefix}\n{prefix}RAM 2/2MB\n"
    assert without_prefixes(text) == ["RAM 1/2MB\n\nRAM 2/2MB\n"]


def test_lines_of_several_programs_are_told_apart():
    text = "a-1 | one\nb-1 | first\na-1 | two\n"
    assert without_prefixes(text) == ["one\ntwo\n", "first\n"]


@pytest.mark.parametrize("text", ["one\ntwo\n", "a-1 | one\nno prefix\n", ""])
def test_text_without_prefixes_is_no_log_of_a_collector(text):
    assert without_prefixes(text) == []
