from pathlib import Path

import pytest

from app.settings.positions import dotted, key_lines

GOOD = Path(__file__).parents[2] / "data" / "settings" / "good"


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nb = 2", ("b",), 2),
        ("\r\na = 1\r\nb = 2\r\n", ("b",), 3),
        ("# a = 1\n\na = 2", ("a",), 3),
        ("a = '#'\nb = 1", ("b",), 2),
        ('a = "\\""\nb = 1', ("b",), 2),
        ('a = """\nb = 1\n"""\nb = 2', ("b",), 4),
        ('a = """\n\\"""""\nb = 2', ("b",), 3),
        ("a = '''\nb = 1'''''\nb = 2", ("b",), 3),
        ('a = ""\nb = 2', ("b",), 2),
        ("[t]\na = 1", ("t", "a"), 2),
        ("[t]\n[ u . 'v w' ]\na = 1", ("u", "v w"), 2),
        ("[t]\n[ u . 'v w' ]\na = 1", ("u", "v w", "a"), 3),
        ("[[t]]\n[[t]]\na = 1", ("t",), 1),
        ("[[t]]\n[[t]]\na = 1", ("t", 1), 2),
        ("[[t]]\n[[t]]\na = 1", ("t", 1, "a"), 3),
        ("[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 1", ("t", 1, "u", "a"), 6),
        ("[[t]]\n[[t.u]]\n[[t.u]]\na = 1", ("t", 0, "u", 1, "a"), 4),
        ("a.b . c = 1", ("a", "b"), 1),
        ('"\\u0061" = 1', ("a",), 1),
        ('"a.b" = 1', ("a.b",), 1),
        ('"a\\"b" = 1\nc = 1', ("c",), 2),
        ("a = [\n 1, # one\n 2,\n]\nb = 1", ("a", 1), 3),
        ("a = [\n 1, # one\n 2,\n]\nb = 1", ("b",), 5),
        ("a = [ [1],\n [ 2, [\n3] ] ]", ("a", 1, 1, 0), 3),
        ("a = []\nb = { }\nc = 1", ("c",), 3),
        ("a = [ # ]\n]\nb = 1", ("b",), 3),
        ("a = [\n { b = 1 },\n { b.c = '}', d = [2] },\n]", ("a", 1, "b", "c"), 3),
        ("a = [\n { b = 1 },\n { b.c = '}', d = [2] },\n]", ("a", 1, "d", 0), 3),
        ("a = 2026-01-31 07:32:00\nb = 1", ("b",), 2),
    ],
)
def test_key_is_found_on_its_line(text, path, line):
    assert key_lines(text)[path] == line


def test_keys_of_a_real_file_are_found_on_their_lines():
    text = (GOOD / "layout.toml").read_text(encoding="utf-8")
    rows = text.split("\n")
    found = {path: rows[line - 1].strip() for path, line in key_lines(text).items()}
    assert found["suite", 0] == "[[ suite ]]"
    assert found["suite", 0, "benchmarks", 1] == '"benchmarks/[a-z]*.py",'
    assert found["suite", 0, "setup", 1] == "\"\"\", '''"
    assert found["suite", 0, "env", "B"] == 'env . "B" = "}"'
    assert found["suite", 1, "env", "HTTP_PROXY"] == 'HTTP_PROXY = ""'
    assert found["budget", 1, "max"].startswith('{ benchmark = "resize", metric = "peak_memory"')
    assert ("suite", 2) not in found


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ((), ""),
        (("gate", "tolerance"), "gate.tolerance"),
        (("suite", 1, "devices", 0), "suite[1].devices[0]"),
        (("owners", "src/**"), 'owners."src/**"'),
        (("a b",), '"a b"'),
    ],
)
def test_path_is_shown_as_people_write_it(path, shown):
    assert dotted(path) == shown
