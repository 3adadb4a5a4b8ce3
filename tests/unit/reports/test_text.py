import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reports import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("two\nlines\tand  space", "two lines and space"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;new title\x07after", "after"),
        ("bell\x07", "bell�"),
        ("\u202egnp.exe", "�gnp.exe"),
        ("مقياس", "مقياس"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_plain_text_is_one_harmless_line(raw: str, shown: str) -> None:
    assert text.plain(raw) == shown


@given(st.text())
def test_plain_text_never_holds_a_control_character(raw: str) -> None:
    shown = text.plain(raw)
    assert "\x1b" not in shown
    assert len(shown.splitlines()) <= 1


@given(st.text(), st.integers(min_value=0, max_value=60))
def test_fitted_text_never_takes_more_columns_than_it_may(raw: str, width: int) -> None:
    assert text.columns(text.fit(raw, width)) <= width


@given(st.text(max_size=300), st.integers(min_value=4, max_value=100))
def test_shortened_text_keeps_its_beginning(raw: str, characters: int) -> None:
    short = text.shorten(raw, characters)
    assert len(short) <= characters
    assert short[0:1] == raw[0:1]


def test_short_text_is_left_alone() -> None:
    assert text.fit("short", 10) == text.shorten("short", 10) == "short"


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert text.columns("速度") == 4
    assert text.columns("e\u0301") == 1
    assert text.pad("速度", 6) == "速度  "
    assert text.pad("7", 3, right=True) == "  7"


def test_tail_of_a_log_begins_with_a_whole_line() -> None:
    log = "first line\nsecond line\nthird line\n"
    assert text.tail(log, 1000) == "first line\nsecond line\nthird line"
    assert text.tail(log, 15) == "…\nthird line"


def test_tail_of_one_endless_line_is_its_end() -> None:
    assert text.tail("x" * 100, 10) == "…\n" + "x" * 10


def test_log_lines_lose_escapes_and_keep_indentation() -> None:
    assert text.plain_lines("\x1b[1mError\x1b[0m\n\tat line 3\x00") == ["Error", "    at line 3"]


def test_a_long_name_keeps_its_whole_self_for_the_tooltip() -> None:
    name = text.name("x" * 130)
    assert (len(name.shown), name.full) == (text.NAME_WIDTH, "x" * 130)
    assert text.name("short").full == ""
