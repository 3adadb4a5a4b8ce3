"""Colours keep enough contrast in both schemes (WCAG 2.2: 4.5:1 for text, 3:1 for graphics)."""

import re
from importlib.resources import files

import pytest

CSS = files("dashboards").joinpath("static", "ratchet.css").read_text("utf-8")
TEXT = ["ink", "ink-2", "ink-3", "regressed", "improved", "open"]
GROUNDS = ["paper", "surface", "sunken"]


def scheme(name: str) -> dict[str, str]:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    block = {"light": blocks[0], "dark": blocks[1], "print": blocks[2]}[name]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXT)
def test_text_can_be_read_on_every_ground(name: str, text: str, ground: str) -> None:
    colours = scheme(name)
    assert contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("name", ["light", "dark", "print"])
@pytest.mark.parametrize("tone", ["regressed", "improved", "open"])
def test_chips_can_be_read_on_their_wash(name: str, tone: str) -> None:
    colours = scheme(name)
    assert contrast(colours[tone], colours[f"{tone}-wash"]) >= 4.5


@pytest.mark.parametrize("name", ["light", "dark", "print"])
@pytest.mark.parametrize("ground", ["paper", "surface"])
def test_drawn_lines_can_be_seen(name: str, ground: str) -> None:
    colours = scheme(name)
    assert contrast(colours["graph"], colours[ground]) >= 3


def test_schemes_define_the_same_colours() -> None:
    assert set(scheme("light")) == set(scheme("dark")) == set(scheme("print"))
