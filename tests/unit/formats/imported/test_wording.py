"""How what an import tells puts numbers and names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.imported.wording import counted, on_one_line, readable


def test_one_is_told_without_an_s():
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("a\nb", r"a\nb"), ("\x1b[1m", r"\x1b[1m"), ("x\u202ey", r"x\u202ey"), ("שלום 🚀 …", "שלום 🚀 …")],
)
def test_name_stays_on_its_line_and_acts_on_nothing(text, wanted):
    assert on_one_line(text) == wanted


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (json.dumps("cut…"), '"cut…"'),
        (json.dumps("🚀 שלום"), '"🚀 שלום"'),
        (json.dumps("a\nb"), r'"a\nb"'),
        (json.dumps("x\u202ey"), r'"x\u202ey"'),
        (json.dumps("e\u0301"), r'"e\u0301"'),
        (json.dumps(r"\u2026"), r'"\\u2026"'),
        (json.dumps("\ud83d"), r'"\ud83d"'),
        ('say "…"', 'say "…"'),
    ],
)
def test_message_has_the_characters_that_can_be_printed(message, wanted):
    assert readable(message) == wanted


@given(st.text())
def test_what_is_readable_says_the_same(text):
    assert json.loads(readable(json.dumps(text)), strict=False) == text
