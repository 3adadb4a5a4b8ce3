"""Badges: what they look like, whatever the names are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from app.reports.badge import COLOURS, MOST_LETTERS, Badge, badge_svg, text_width

SVG = "{http://www.w3.org/2000/svg}"


def drawn(about: str, says: str = "1.92 ms") -> ElementTree.Element:
    return ElementTree.fromstring(badge_svg(Badge(about, says, "good", f"{about}: {says}")))


def test_halves_are_as_wide_as_their_texts():
    badge = drawn("resize latency_p50")
    rects, texts = list(badge.iter(f"{SVG}rect"))[1:], list(badge.iter(f"{SVG}text"))
    assert [text.text for text in texts] == ["resize latency_p50", "1.92 ms"]
    for rect, text in zip(rects, texts, strict=True):
        assert text.text is not None
        assert int(text.attrib["textLength"]) == pytest.approx(text_width(text.text), abs=1)
        assert int(rect.attrib["width"]) == int(text.attrib["textLength"]) + 12
    assert int(badge.attrib["width"]) == sum(int(rect.attrib["width"]) for rect in rects)


def test_widths_are_those_of_the_characters():
    assert text_width("MMM") > text_width("iii")
    assert text_width("日本") == 22
    assert text_width("e\u0301") == text_width("e")


@pytest.mark.parametrize(
    "name", ['<script>alert("1")</script>', "a & b", "**x**", "🚀", "שלום", "]]>", "'\""]
)
def test_names_are_text(name):
    badge = drawn(name, name)
    assert [text.text for text in badge.iter(f"{SVG}text")] == [name, name]
    assert {element.tag.removeprefix(SVG) for element in badge.iter()} == {
        *("svg", "title", "clipPath", "rect", "g", "text")
    }


def test_long_name_is_cut():
    (about, _) = drawn("x" * 300).iter(f"{SVG}text")
    assert about.text is not None
    assert len(about.text) == MOST_LETTERS
    assert "…" in about.text


def test_white_is_readable_on_every_colour():
    for colour in (*COLOURS.values(), "#444c56"):
        parts = [int(part, 16) / 255 for part in re.findall("..", colour[1:])]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        assert 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) >= 4.5
