"""A device's readings over a run as a picture: the range of each invocation, base and head told apart."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from app.services.read_devices import ReadingStrip
from app.web.reading_picture import HEIGHT, MOST, WIDTH, reading_picture


def strip(n: int) -> ReadingStrip:
    points = [("base" if i % 2 else "head", (100.0 + i, 200.0, 300.0 + i)) for i in range(n)]
    return ReadingStrip("gpu", "power_w", "W", tuple(points))


def drawn(n: int) -> dict[str, str]:
    paths = ElementTree.fromstring(reading_picture(strip(n))).iter("path")
    return {path.get("class", ""): path.get("d", "") for path in paths}


def test_each_invocation_is_a_range_with_its_middle() -> None:
    paths = drawn(5)
    assert (paths["range head"].count("M"), paths["range base"].count("M")) == (3, 2)
    assert (paths["dots head"].count("M"), paths["dots base"].count("M")) == (3, 2)


def test_everything_stays_inside_however_many_there_are() -> None:
    for n in (1, 7, 5_000):
        paths = drawn(n)
        places = re.findall(r"M(\S+) ([^MVh]+)", " ".join(paths.values()))
        assert all(0 <= float(x) <= WIDTH and 0 <= float(y.partition("H")[0]) <= HEIGHT for x, y in places)
        assert paths["range head"].count("M") <= MOST


def test_shares_are_told_in_percent() -> None:
    its = ReadingStrip("cpu", "util", "1", (("base", (0.4, 0.41, 0.43)), ("head", (0.42, 0.44, 0.461))))
    root = ElementTree.fromstring(reading_picture(its))
    assert [text.text for text in root.iter("text")] == ["40.0 %", "46.1 %"]
    assert root.get("aria-label") == "2 invocations in time order, 40.0 % to 46.1 %"


def test_it_is_told_in_words_too() -> None:
    label = ElementTree.fromstring(reading_picture(strip(4))).get("aria-label")
    assert label == "4 invocations in time order, 100 W to 303 W"
