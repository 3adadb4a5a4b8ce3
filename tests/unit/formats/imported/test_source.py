"""How the bytes of a file become its document, or one after the other."""

from __future__ import annotations

import gzip
import io
import math

import pytest

from app.domain.errors import DataError
from app.formats.imported.source import Lines, parse, read_source
from tests.factories.import_files import parsed


def test_nan_is_read_as_asv_writes_it():
    assert math.isnan(parsed(b'{"a": NaN}')["a"])


def test_byte_order_mark_and_json_lines_are_read():
    assert parsed(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert parsed(b'{"a": 1}\n\n{"a": 2}\n') == [{"a": 1}, {"a": 2}]


def test_script_is_read_with_and_without_its_end():
    for end in ("", ";", "\n;\n"):
        assert parsed(b"\n window.BENCHMARK_DATA = {}" + end.encode()) == {}


def test_document_over_several_lines_is_one():
    assert parsed(b'[\n{"a": 1},\n{"a": 2}\n]\n\n') == [{"a": 1}, {"a": 2}]


def test_documents_of_lines_can_be_read_again_and_again():
    found = read_source(io.BytesIO(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}'))
    assert isinstance(found, Lines)
    assert found.first == {"a": 1}
    assert [list(found), list(found)] == [[{"a": 1}, {"a": 2}]] * 2


def test_line_breaks_of_unicode_within_a_text_end_no_line():
    assert parsed('{"a": "x\u2028y\x85"}\r\n{"a": 2}'.encode()) == [{"a": "x\u2028y\x85"}, {"a": 2}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"{}", mtime=0), "it is packed with gzip: unpack it first"),
        (b"PK\x03\x04rest", "it is packed with zip"),
        ("{}".encode("utf-16"), "it is UTF-16: save it as UTF-8"),
        ("{}".encode("utf-16-le"), "it is UTF-16"),
        ("{}".encode("utf-16-be"), "it is UTF-16"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "it is a pointer of Git LFS"),
        (b"\xef\xbb\xbf\n<!DOCTYPE html>\n<html>", "it is an HTML page"),
        (b"<html lang=en>", "it is an HTML page"),
    ],
)
def test_what_stands_in_the_place_of_a_file_is_told_with_what_to_do(data, message):
    for reads in (read_source, parse):
        with pytest.raises(DataError) as refused:
            reads(io.BytesIO(data))
        assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff{}", "not UTF-8: see byte 0"),
        (b'{"a": 1', "not JSON: Expecting ',' delimiter at line 1, column 8"),
        (b"", "not JSON: Expecting value at line 1, column 1"),
        (b"[" * 100_000, "not JSON that can be read"),
        (b'{"a": 1} x', "not JSON: Extra data at line 1, column 10"),
        (b'{"a": 1}\n\n{"a"\n', "not JSON: Expecting ':' delimiter at line 3, column 5"),
        (b'{"a": 1}\n{"a": "\xff"}', "not UTF-8: see byte 16"),
        (b'{\n"a": 1}}', "not JSON: Extra data at line 2, column 8"),
        (b'window.BENCHMARK_DATA = {"a": 1', "not JSON: Expecting ',' delimiter at line 1, column 32"),
    ],
)
def test_file_that_is_no_json_is_refused_with_the_place(data, message):
    with pytest.raises(DataError) as refused:
        parsed(data)
    assert str(refused.value).startswith(message)
