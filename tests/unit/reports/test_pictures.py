import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from app.domain.results import Estimate, Look
from app.reports import bars, pictures
from app.reports.scale import EffectScale, Thresholds, effect_scale, tick_label
from tests.factories import results

LIMITS = Thresholds(0.005, 0.02)
SCALE = EffectScale(0.02, 0.4)


def numbers(svg: str) -> list[int]:
    return [int(n) for n in re.findall(r"(?<=[MHV ])-?\d+", " ".join(re.findall(r' d="([^"]*)"', svg)))]


def test_scale_keeps_order_zero_in_the_middle_and_stays_within_its_ends() -> None:
    places = [SCALE.position(x) for x in (-math.inf, -0.4, -0.02, 0.0, 0.005, 0.02, 0.1, 0.4, 5.0)]
    assert places == sorted(places)
    assert (places[0], places[3], places[-1]) == (-1.0, 0.0, 1.0)
    assert places[6] == -SCALE.position(-0.1)


def test_scale_reaches_every_estimate_and_cuts_an_interval_far_wider() -> None:
    scale = effect_scale(0.02, [0.05, -0.3], [0.5, 40.0])
    assert 0.3 < scale.limit < 2.0


@pytest.mark.parametrize("tolerance", [0.0, 0.02, 0.5])
def test_scale_of_nothing_still_shows_the_tolerance(tolerance: float) -> None:
    scale = effect_scale(tolerance, [], [])
    assert 0 < scale.position(max(tolerance, 0.001)) < 1


@pytest.mark.parametrize("reach", [0.0, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("tolerance", [0.0005, 0.02, 0.2])
def test_labels_of_the_axis_neither_touch_nor_reach_beyond_the_picture(
    tolerance: float, reach: float
) -> None:
    axis = bars.scale_axis(effect_scale(tolerance, [reach], []))
    labels = sorted((int(x), words) for x, words in re.findall(r'x="(\d+)" y="12">([^<]+)<', axis))
    spans = [(x - half, x + half) for x, half in ((x, width_in_wide_font(words) / 2) for x, words in labels)]
    assert len(labels) >= 3
    assert min(right[0] - left[1] for left, right in pairwise(spans)) > 3
    assert spans[0][0] >= 0
    assert spans[-1][1] <= bars.WIDTH


def width_in_wide_font(words: str) -> float:
    """Return what a label takes in DejaVu Sans, the widest font of the style sheet's list [px]."""
    em = {"+": 0.84, "−": 0.84, "%": 0.95, " ": 0.32, ".": 0.32}
    return 10.5 * sum(em.get(character, 0.64) for character in words)


@pytest.mark.parametrize("tolerance", [0.0005, 0.02, 0.2])
def test_labels_beside_the_looks_stand_on_lines_of_their_own(tolerance: float) -> None:
    looks = [Look(4, 90.0, 80.0, 100.0)]
    svg = pictures.looks_picture(looks, "lower", Thresholds(tolerance / 4, tolerance), "one")
    lines = sorted(int(y) for y in re.findall(r'class="end" x="\d+" y="(\d+)">[^<]*[%0]<', svg))
    assert len(lines) >= 3
    assert min(below - above for above, below in pairwise(lines)) >= 18


def test_tolerance_keeps_its_distance_from_zero_beside_the_largest_effect() -> None:
    assert effect_scale(0.02, [4.0], []).position(0.02) >= 0.3
    assert effect_scale(0.02, [0.03], []).position(0.02) == pytest.approx(
        math.asinh(1) / (1.1 * math.asinh(3))
    )


def test_ticks_are_round_changes_on_both_sides() -> None:
    scale = effect_scale(0.02, [2.0], [])
    labels = {tick_label(tick) for tick in scale.ticks(lambda _: 0.2)}
    assert {"−2 %", "0", "+2 %", "−75 %", "+300 %"} <= labels


@pytest.mark.parametrize(
    ("effect", "label"), [(0.0, "0"), (0.02, "+2 %"), (math.log(0.8), "−20 %"), (math.log(10), "+900 %")]
)
def test_tick_is_labelled_as_a_change(effect: float, label: str) -> None:
    assert tick_label(effect) == label


def test_bar_shows_interval_and_estimate_in_order() -> None:
    bar = bars.interval_bar(SCALE, 0.05, 0.04, 0.06)
    low, high, middle = (round(120 + SCALE.position(x) * 112) for x in (0.04, 0.06, 0.05))
    assert f"M{low} 9H{high}" in bar
    assert f'class="dot" d="M{middle} 9h0"' in bar


def test_bar_without_a_bound_ends_in_an_arrow() -> None:
    assert "l5 4l-5 4" in bars.interval_bar(SCALE, 0.05, 0.04, None)
    assert "l5 4l-5 4" in bars.interval_bar(SCALE, 0.05, 0.04, 3.0)
    assert "l-5 4l5 4" in bars.interval_bar(SCALE, 0.05, None, 0.06)


def test_bar_of_an_exact_metric_is_a_dot_and_of_nothing_is_nothing() -> None:
    assert bars.interval_bar(SCALE, 0.0, None, None, is_exact=True).count("<path") == 1
    assert bars.interval_bar(SCALE, None, None, None) == ""


def test_samples_are_drawn_once_each_and_void_ones_hollow() -> None:
    case = results.measured("bert", 0.05, pairs=6, void=(3,))
    svg = pictures.samples_picture(case.estimates, "s", *case.levels, "two arms")
    drawn = [(kind, d.count("h0")) for kind, d in re.findall(r'class="p ([a-z ]+)" d="([^"]*)"', svg)]
    assert drawn == [
        ("base", 6), ("base", 1), ("base hole", 1), ("head", 6), ("head", 1), ("head hole", 1),
    ]  # fmt: skip
    assert re.search(r'class="pair" d="([^"]*)"', svg).group(1).count("L") == 7


def test_pictures_name_themselves_and_are_well_formed() -> None:
    case = results.measured("bert", 0.05)
    for svg in (
        pictures.samples_picture(case.estimates, "s", *case.levels, '"<both>'),
        pictures.looks_picture(case.looks, "lower", LIMITS, '"<both>'),
    ):
        assert ElementTree.fromstring(svg).attrib["aria-label"] == '"<both>'


@pytest.mark.parametrize("value", [0.0, 1e-9, 5.0, 1e12])
def test_samples_that_are_all_equal_are_drawn_inside_the_picture(value: float) -> None:
    estimates = [Estimate(0, "base", 0, value), Estimate(0, "head", 1, value)]
    svg = pictures.samples_picture(estimates, "B", value, value, "flat")
    assert all(0 <= n <= pictures.WIDTH for n in numbers(svg))


def test_samples_without_a_finite_value_have_no_picture() -> None:
    assert pictures.samples_picture([Estimate(0, "base", 0, math.nan)], "s", None, None, "none") == ""


def test_looks_put_worse_at_the_top_whatever_the_direction() -> None:
    def height(change: float, better: str) -> int:
        svg = pictures.looks_picture([Look(4, change, None, None)], better, LIMITS, "one")
        return int(re.search(r'class="p now" d="M\d+ (\d+)h0"', svg).group(1))

    assert height(0.1, "lower") == height(1 / 1.1 - 1, "higher") < height(0.0, "lower")


def test_looks_that_were_unbounded_span_the_whole_picture() -> None:
    svg = pictures.looks_picture([Look(4, 0.1, None, None), Look(6, 0.1, 0.08, 0.12)], "lower", LIMITS, "two")
    top, bottom = re.search(r'class="past" d="M\d+ (\d+)V(\d+)"', svg).groups()
    assert (int(top), int(bottom)) == (12, pictures.HEIGHT - 28)


def test_looks_without_an_estimate_have_no_picture() -> None:
    assert pictures.looks_picture([Look(4, math.nan, None, None)], "lower", LIMITS, "none") == ""
    assert pictures.looks_picture([], "lower", LIMITS, "none") == ""


def test_bound_that_settled_a_case_is_marked_on_its_line() -> None:
    svg = bars.interval_bar(SCALE, 0.001, -0.03, 0.03, bound=0.015)
    end, mark = (
        int(re.search(pattern, svg).group(1)) for pattern in (r"M(\d+) 4v10\"/>", r'bound" d="M(\d+) 3v12')
    )
    assert bars.WIDTH // 2 < mark < end


def test_bar_without_an_upper_end_goes_up_to_the_bound() -> None:
    svg = bars.interval_bar(SCALE, 0.001, None, None, bound=0.015)
    mark = re.search(r'bound" d="M(\d+) 3v12', svg).group(1)
    assert f"9H{mark}M" in svg


def test_bounds_of_all_looks_are_drawn_where_one_of_them_settled_the_case() -> None:
    looks = [Look(2, 0.0, None, None), Look(4, 0.0, None, None, 0.03), Look(6, 0.0, -0.03, 0.03, 0.015)]
    svg = pictures.looks_picture(looks, "lower", LIMITS, "three", with_bounds=True)
    past, last = (
        re.findall(r"M\d+ (\d+)h12", d) for d in re.findall(r'class="bound[a-z ]*" d="([^"]*)"', svg)
    )
    assert (len(past), len(last)) == (1, 1)
    assert int(past[0]) < int(last[0]) < pictures.HEIGHT // 2
    assert "bound" not in pictures.looks_picture(looks, "lower", LIMITS, "three")


@pytest.mark.parametrize(
    ("unit", "at_tick", "below"), [("s", " ms</text>", None), ("tokens/s", "2</text>", "in k tokens/s")]
)
def test_long_unit_stands_below_the_picture_and_a_short_one_at_each_tick(unit, at_tick: str, below) -> None:
    value = 48_000.0 if below else 0.012
    estimates = [Estimate(0, "base", 0, value), Estimate(0, "head", 1, value * 1.01)]
    svg = pictures.samples_picture(estimates, unit, None, None, "two")
    assert at_tick in svg
    assert (f">{below}<" in svg) if below else (">in " not in svg)
