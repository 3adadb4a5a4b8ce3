import math
import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from app.reports import roofline_axes
from app.reports.label_places import Box
from app.reports.roofline import roofline_key, roofline_picture
from app.reports.roofline_axes import NARROW, WIDE, Axes, lines
from app.reports.roofline_view import Point, Roof, RooflineCase, RooflineView, drawable, levels, told

H100 = [Roof("bf16", 989e12), Roof("fp16", 989e12), Roof("fp8", 1979e12), Roof("fp32", 67e12)]
GEMM = RooflineCase("gemm 4096", "bf16", Point(1365, 610e12, 0.617), Point(1365, 702e12, 0.71))
NORM = RooflineCase("layer_norm", "fp32", Point(1.2, 2.9e12, 0.72), Point(1.2, 3.1e12, 0.77))
VIEW = RooflineView("H100-SXM (1 GPU)", H100, 3.35e12, [GEMM, NORM])
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=lambda size: size.name)


def pictures(view: RooflineView) -> list[ElementTree.Element]:
    """Both widths of the picture."""
    return list(ElementTree.fromstring(str(roofline_picture(view))))


def labels(picture: ElementTree.Element, kind: str) -> list[str]:
    return [text.text for text in picture.iter("text") if kind in text.get("class", "").split()]


def crowd(count: int) -> RooflineView:
    cases = [
        RooflineCase(
            f"resnet {n}", "bf16", Point(40 * 1.12**n, 60e12 * 1.05**n), Point(41 * 1.12**n, 66e12 * 1.05**n)
        )
        for n in range(count)
    ]
    return RooflineView("H100-SXM", H100, 3.35e12, cases)


def test_picture_comes_in_two_widths_that_name_and_tell_themselves():
    wide, narrow = pictures(VIEW)
    assert (wide.get("viewBox"), narrow.get("viewBox")) == ("0 0 720 430", "0 0 360 400")
    for picture in (wide, narrow):
        assert picture.get("role") == "img"
        assert picture[0].tag == "title"
        assert picture[0].text == "Roofline of H100-SXM (1 GPU)"
        assert picture[1].tag == "desc"
        assert picture[1].text == told(drawable(VIEW))


def test_description_says_what_is_seen():
    assert told(drawable(VIEW)) == (
        "Memory 3.35 TB/s. bf16 989 TFLOP/s. fp32 67 TFLOP/s. "
        "1 gemm 4096 (bf16): base 610 TFLOP/s at 1365 FLOP/B, 61.7 % of the roof; "
        "head 702 TFLOP/s at 1365 FLOP/B, 71.0 % of the roof. "
        "2 layer_norm (fp32): base 2.9 TFLOP/s at 1.2 FLOP/B, 72.0 % of the roof; "
        "head 3.1 TFLOP/s at 1.2 FLOP/B, 77.0 % of the roof."
    )


def test_only_roofs_of_dtypes_that_are_used_are_drawn_and_equal_ones_once():
    assert [labels_[0] for labels_, _ in levels(drawable(VIEW))] == ["bf16 989 TFLOP/s", "fp32 67 TFLOP/s"]
    fast = RooflineView("x", H100, 3.35e12, [NORM, RooflineCase("gemm8", "fp8", None, Point(900, 1.4e15))])
    assert levels(drawable(fast))[0][0] == ("fp8 1.98 PFLOP/s", "fp8 1979")
    assert "– → 1400<" in roofline_key(fast)
    both = RooflineView("x", H100, 3.35e12, [GEMM, RooflineCase("conv", "fp16", None, Point(300, 4e14))])
    assert [labels_ for labels_, _ in levels(drawable(both))] == [
        ("bf16, fp16 989 TFLOP/s", "bf16, fp16 989")
    ]


def test_peak_that_nobody_compared_is_dashed_and_says_so():
    view = RooflineView("A10G", [Roof("bf16", 70e12, False)], 600e9, [GEMM], False)
    for picture in pictures(view):
        assert len(picture.findall("path[@class='roof unverified']")) == 2
        assert len([label for label in labels(picture, "on") if "peak not verified" in label]) == 2
    for picture in pictures(VIEW):
        assert picture.findall("path[@class='roof unverified']") == []


@SIZES
def test_places_are_logarithmic_and_the_ridge_is_where_the_lines_meet(size):
    axes = Axes(drawable(VIEW), size)
    assert axes.x(100) - axes.x(10) == pytest.approx(axes.x(1000) - axes.x(100))
    assert axes.y(1e13) - axes.y(1e14) == pytest.approx(axes.y(1e12) - axes.y(1e13))
    slope, top, low = lines(drawable(VIEW), axes)
    assert slope.end == pytest.approx(top.start)
    assert top.start == pytest.approx((axes.x(989 / 3.35), axes.y(989e12)))
    assert low.start == pytest.approx((axes.x(67 / 3.35), axes.y(67e12)))
    on_slope = [(axes.x(x), axes.y(x * 3.35e12)) for x in (1, 10, 100)]
    for x, y in on_slope:
        share = (x - slope.start[0]) / (slope.end[0] - slope.start[0])
        assert y == pytest.approx(slope.start[1] + share * (slope.end[1] - slope.start[1]))


def test_base_is_a_ring_head_a_square_and_a_line_joins_them():
    axes = Axes(drawable(VIEW), WIDE)
    wide, _ = pictures(VIEW)
    gemm = wide.findall("g")[0]
    ring, square = gemm.find("circle"), gemm.find("rect")
    assert (float(ring.get("cx")), float(ring.get("cy"))) == pytest.approx(axes.at(GEMM.base), abs=0.1)
    assert (float(square.get("x")) + 4, float(square.get("y")) + 4) == pytest.approx(
        axes.at(GEMM.head), abs=0.1
    )
    assert float(square.get("y")) + 4 < float(ring.get("cy"))
    assert gemm.find("path").get("class") == "move"
    assert gemm.find("title").text.startswith("1 gemm 4096 (bf16): base 610 TFLOP/s")


def test_arm_that_is_not_known_is_left_out():
    view = RooflineView("x", H100, 3.35e12, [RooflineCase("new", "bf16", None, Point(10, 1e13))])
    for picture in pictures(view):
        (case,) = picture.findall("g")
        assert [shape.tag for shape in case] == ["title", "rect"]
        assert labels(picture, "name") == ["new"]


def label_box(text: ElementTree.Element, character: float) -> Box:
    """What a label covers where its letters are so wide [px]."""
    x, y, width = float(text.get("x")), float(text.get("y")), len(text.text) * character
    side = text.get("class").rpartition(" ")[2]
    left = x - {"end": width, "mid": width / 2}.get(side, 0)
    return Box(left, y - 10, left + width, y + 2)


def test_label_beside_its_point_leaves_it_free_whatever_the_width_of_its_letters():
    long = RooflineCase("a name of the usual length", "bf16", None, Point(2731, 614e12))
    for picture in pictures(RooflineView("x", H100, 3.35e12, [long])):
        square = picture.find("g/rect")
        x, y = float(square.get("x")) + 4, float(square.get("y")) + 4
        (text,) = [one for one in picture.iter("text") if "name" in one.get("class")]
        for character in (6.4, 7.4):
            box = label_box(text, character)
            assert not (box.left < x < box.right and box.top < y < box.bottom)


@SIZES
@pytest.mark.parametrize("count", [2, 6, 12, 13, 20, 40])
def test_labels_do_not_cover_each_other_or_a_point(size, count):
    picture = next(p for p in pictures(crowd(count)) if p.get("class") == size.name)
    boxes = []
    for text in picture.iter("text"):
        if "name" in text.get("class", ""):
            boxes.append(label_box(text, 6.4))
    assert boxes
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(box.left >= 0 and box.right <= size.width and box.bottom <= size.height for box in boxes)
    heads = [
        (float(r.get("x")) + 4, float(r.get("y")) + 4)
        for g in picture.findall("g")
        for r in g.findall("rect")
    ]
    assert not any(box.left < x < box.right and box.top < y < box.bottom for box in boxes for x, y in heads)


def test_many_cases_are_numbered_as_in_the_key():
    wide, narrow = pictures(crowd(20))
    assert set(labels(wide, "name")) <= {str(number) for number in range(1, 21)}
    assert len(labels(wide, "name")) == 20
    assert len(labels(narrow, "name")) >= 18
    key = ElementTree.fromstring(str(roofline_key(crowd(20))))
    rows = key.findall(".//tbody/tr")
    assert [row[0].text for row in rows] == [str(number) for number in range(1, 21)]
    assert rows[4][1].text.strip() == "resnet 4"


def test_names_tell_the_dtype_where_there_are_several_roofs():
    wide, _ = pictures(VIEW)
    assert "layer_norm · fp32" in labels(wide, "name")
    wide, _ = pictures(crowd(2))
    assert labels(wide, "name") == ["resnet 0", "resnet 1"]


def test_key_has_both_arms_in_one_unit_and_the_share_of_head():
    key = ElementTree.fromstring(str(roofline_key(VIEW)))
    titles = [cell.text for cell in key.findall(".//thead/tr/th")]
    assert titles == [None, "case", "FLOP/B", "TFLOP/s, base\u00a0→\u00a0head", "of the roof"]
    first = key.find(".//tbody/tr")
    assert ["".join(cell.itertext()) for cell in first] == [
        "1",
        "gemm 4096 bf16",
        "1365",
        "610 → 702",
        "71.0 %",
    ]


@pytest.mark.parametrize(
    "view",
    [
        RooflineView("x", H100, 3.35e12, []),
        RooflineView("x", [], None, [GEMM]),
        RooflineView("x", [Roof("int8", 1e15)], None, [GEMM]),
        RooflineView("x", H100, 3.35e12, [RooflineCase("none", "bf16")]),
        RooflineView(
            "x", H100, 3.35e12, [RooflineCase("zero", "bf16", Point(0.0, 1e12), Point(math.inf, 1e12))]
        ),
    ],
)
def test_nothing_to_draw_is_no_picture(view):
    assert roofline_picture(view) == ""


@pytest.mark.parametrize(
    ("roofs", "bandwidth", "drawn"),
    [(H100, None, 2), ([], 3.35e12, 1), ([Roof("bf16", math.nan)], 3.35e12, 1)],
)
def test_half_a_roofline_is_drawn_as_far_as_it_is_known(roofs, bandwidth, drawn):
    view = RooflineView("x", roofs, bandwidth, [GEMM, NORM])
    for picture in pictures(view):
        assert len(picture.findall("path[@class='roof']")) == drawn


def test_point_above_its_roof_is_still_inside_the_picture():
    view = RooflineView("x", H100, 3.35e12, [RooflineCase("wrong", "bf16", None, Point(1.0, 5e15))])
    for picture, size in zip(pictures(view), (WIDE, NARROW), strict=True):
        square = picture.find("g/rect")
        assert size.top <= float(square.get("y")) <= size.bottom


def test_names_are_written_as_text():
    view = RooflineView("<b>&", H100, 3.35e12, [RooflineCase('"<i>', "bf16", None, Point(10, 1e13))])
    for picture in pictures(view):
        assert picture[0].text == "Roofline of <b>&"
        assert labels(picture, "name") == ['"<i>']
    assert "&lt;i&gt;" in roofline_key(view)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.3, 2000, [1, 10, 100, 1000]), (3, 40, [5, 10, 20]), (20, 45, [20]), (1e12, 1e13, [1e12, 1e13])],
)
def test_ticks_are_powers_of_ten_or_round_values_between_them(low, high, ticks):
    assert roofline_axes._round_values(low, high) == pytest.approx(ticks)


def test_every_class_of_the_picture_has_a_style():
    from importlib.resources import files

    css = (files("app.reports") / "templates" / "roofline.css").read_text("utf-8")
    used = set(re.findall(r'class="([^"]+)"', roofline_picture(VIEW) + roofline_key(VIEW)))
    names = {name for value in used for name in value.split()} - {"num", "scroll", "wide"}
    assert [name for name in names if f".{name}" not in css] == []
    assert "url(" not in css
