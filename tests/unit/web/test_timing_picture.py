from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from app.services.read_run import Burst, CaseTimings
from app.web.timing_picture import HEIGHT, MOST_POINTS, WIDTH, timing_picture


def burst(*seconds: float, arm: str = "base", is_void: bool = False) -> Burst:
    return Burst(arm, is_void, "ok", len(seconds), seconds)


def case(*bursts: Burst) -> CaseTimings:
    return CaseTimings("resize", "host", 1, bursts)


def paths(picture: str) -> list[tuple[str, list[tuple[float, float]]]]:
    found = ElementTree.fromstring(picture).iter("path")
    return [
        (
            path.get("class", ""),
            [(float(x), float(y)) for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d", ""))],
        )
        for path in found
    ]


def test_case_that_was_never_timed_has_no_picture() -> None:
    assert timing_picture(case()) == ""
    assert timing_picture(case(burst())) == ""


def test_every_invocation_is_drawn_from_left_to_right_in_its_arm() -> None:
    drawn = paths(timing_picture(case(burst(0.1, 0.11), burst(0.12, 0.13, arm="head"))))
    assert [kind for kind, _ in drawn] == ["frame", "dots base", "level base", "dots head", "level head"]
    xs = [x for kind, points in drawn if kind.startswith("dots") for x, _ in points]
    assert xs == sorted(xs)
    assert len(xs) == 4


def test_slower_is_higher() -> None:
    drawn = dict(paths(timing_picture(case(burst(0.1, 0.1), burst(0.2, 0.2, arm="head")))))
    assert drawn["level head"][0][1] < drawn["level base"][0][1]


def test_void_invocation_looks_different() -> None:
    kinds = [kind for kind, _ in paths(timing_picture(case(burst(0.1, is_void=True))))]
    assert "dots base void" in kinds


@pytest.mark.parametrize("value", [0.0, 1e-9, 3.2, 1e6])
def test_equal_values_stay_inside_the_picture(value: float) -> None:
    for _, points in paths(timing_picture(case(burst(value, value), burst(value, arm="head")))):
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def test_one_spike_does_not_flatten_the_rest() -> None:
    quiet = [0.1 + 0.0001 * (n % 10) for n in range(300)]
    drawn = dict(paths(timing_picture(case(burst(*quiet, 50.0)))))
    heights = [y for _, y in drawn["dots base"]]
    assert max(heights[:-1]) - min(heights[:-1]) > HEIGHT / 3
    assert heights[-1] == min(heights)


def test_picture_of_many_invocations_stays_small() -> None:
    bursts = [burst(*[0.1 + 0.001 * k for k in range(24)], arm=("base", "head")[n % 2]) for n in range(400)]
    picture = timing_picture(case(*bursts))
    points = sum(len(points) for kind, points in paths(picture) if kind.startswith("dots"))
    assert points <= MOST_POINTS
    assert len(picture) < 120_000
