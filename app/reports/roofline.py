"""The roofline of a device with the cases under it, as compact inline SVG: base and head of each joined by a line.

Both axes are logarithmic. The slope is the memory's bandwidth, a level roof the arithmetic peak of a dtype; dashed is
what nobody compared with its source. The picture comes in two widths, of which the style sheet (`roofline.css`) shows
the one that fits; names that find no room become numbers, which the key tells. Nothing is computed here but places:
what the values mean is `app.analysis.efficiency.roofline`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from app.domain.units import ABSENT
from app.reports import quantities
from app.reports.label_places import Box, Place, around, lead, place_labels
from app.reports.roofline_axes import (
    CHARACTER,
    LINE,
    NARROW,
    WIDE,
    Axes,
    Line,
    Size,
    draw_grid,
    draw_line,
    lines,
)
from app.reports.roofline_view import (
    RooflineCase,
    RooflineView,
    case_words,
    digits,
    drawable,
    intensity,
    rate_unit,
    told,
)
from app.reports.text import plain, shorten

_POINT = 7
"""Half of the square that a point needs [px]."""
_LONGEST_NAME = 30
_MOST_NAMES = 12
"""With more cases than this, numbers are easier to read than names."""


def roofline_picture(view: RooflineView) -> Markup:
    """Return both widths of the picture in one element; an empty string where nothing can be drawn.

    At least one roof or the bandwidth must be known, and one arm of one case must have a place on the axes.
    """
    shown = drawable(view)
    if not shown.cases or (not shown.roofs and shown.bandwidth is None):
        return Markup("")
    return Markup('<div class="roofline">{}{}</div>').format(_draw(shown, WIDE), _draw(shown, NARROW))


def roofline_key(view: RooflineView) -> Markup:
    """Return the picture's cases as a table: number, name, dtype, operations for each byte, both arms, head's share."""
    shown = drawable(view)
    if not shown.cases:
        return Markup("")
    unit, size = rate_unit(shown)
    titles = ("", "case", "FLOP/B", f"{unit}, base\u00a0→\u00a0head", "of the roof")
    rows = (_row(number, case, size) for number, case in enumerate(shown.cases, start=1))
    return Markup(
        '<div class="scroll"><table class="roofline-key"><thead>{}</thead><tbody>{}</tbody></table></div>'
    ).format(_cells("th", titles), Markup("").join(rows))


# --- the picture ----------------------------------------------------------------------------------------------


def _draw(view: RooflineView, size: Size) -> Markup:
    axes = Axes(view, size)
    ground = lines(view, axes)
    numbered = list(enumerate(view.cases, start=1))
    labels = _labels(view, axes, ground)
    shapes = [
        draw_grid(view, axes),
        *map(draw_line, ground),
        *(line for line, _ in labels),
        *(_case(number, case, axes) for number, case in numbered),
        *(name for _, name in labels),
        _legend(size),
    ]
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(
        size.name,
        size.width,
        size.height,
        f"Roofline of {plain(view.device)}",
        told(view),
        Markup("").join(shapes),
    )


def _case(number: int, case: RooflineCase, axes: Axes) -> Markup:
    """Return base as a ring, head as a filled square, and a line from one to the other."""
    shapes = []
    if case.base and case.head:
        (x0, y0), (x1, y1) = axes.at(case.base), axes.at(case.head)
        shapes.append(Markup('<path class="move" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(x0, y0, x1, y1))
    if case.base:
        shapes.append(
            Markup('<circle class="base" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(*axes.at(case.base))
        )
    if case.head:
        x, y = axes.at(case.head)
        shapes.append(
            Markup('<rect class="head" x="{:.1f}" y="{:.1f}" width="8" height="8"/>').format(x - 4, y - 4)
        )
    return Markup("<g><title>{}</title>{}</g>").format(case_words(number, case), Markup("").join(shapes))


def _labels(view: RooflineView, axes: Axes, ground: Sequence[Line]) -> list[tuple[Markup, Markup]]:
    """Return a name beside each point where it finds room, else its number; before each, the lead to its point."""
    points = [axes.at(case.shown) for case in view.cases]
    forms = [(name, str(number)) for number, name in enumerate(_names(view), start=1)]
    if len(forms) > _MOST_NAMES:
        forms = [(number, number) for _, number in forms]
    places = place_labels(
        points,
        [[len(form) * CHARACTER + 4 for form in label] for label in forms],
        LINE,
        axes.room,
        _taken(view.cases, axes, ground),
        [(line.start, line.end) for line in ground],
    )
    placed = zip(points, forms, places, strict=True)
    return [_label(point, label[place.form], place) for point, label, place in placed if place]


def _taken(cases: Sequence[RooflineCase], axes: Axes, ground: Sequence[Line]) -> list[Box]:
    """Return what no label may cover: points, and the labels of the roofs."""
    points = [point for case in cases for point in (case.base, case.head) if point]
    return [
        *(around(*axes.at(point), _POINT) for point in points),
        *(box for line in ground for box in line.label_boxes),
    ]


def _names(view: RooflineView) -> list[str]:
    """Return the cases' names, with the dtype where there is more than one roof that a case may be under."""
    tells_dtype = len({roof.peak for roof in view.roofs}) > 1
    names = [shorten(plain(case.name), _LONGEST_NAME) for case in view.cases]
    dtypes = [f" · {plain(case.dtype)}" if tells_dtype else "" for case in view.cases]
    return [name + dtype for name, dtype in zip(names, dtypes, strict=True)]


def _label(at: tuple[float, float], label: str, place: Place) -> tuple[Markup, Markup]:
    box = place.box
    line = Markup("")
    if place.is_far:
        line = Markup('<path class="lead" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(*at, *lead(at, box))
    side, x = _anchor(at[0], box)
    name = Markup('<text class="halo name{}" x="{:.1f}" y="{:.1f}">{}</text>')
    return line, name.format(side, x, box.bottom - 4, label)


def _anchor(point: float, box: Box) -> tuple[str, float]:
    """Return the class of a label and where it is held [px]: at its point's side, as letters may be wider."""
    if box.right <= point:
        return " end", box.right - 2
    return ("", box.left + 2) if box.left >= point else (" mid", (box.left + box.right) / 2)


def _legend(size: Size) -> Markup:
    x, y = size.left + 6, 20
    return Markup(
        '<circle class="base" cx="{0}" cy="{1}" r="5"/><text class="on" x="{2}" y="{3}">base</text>'
        '<rect class="head" x="{4}" y="{5}" width="8" height="8"/><text class="on" x="{6}" y="{3}">head</text>'
    ).format(x, y, x + 10, y + 4, x + 50, y - 4, x + 64)


# --- the key --------------------------------------------------------------------------------------------------

_NAME = 1
"""The one column that holds no numbers."""


def _row(number: int, case: RooflineCase, size: float) -> Markup:
    name = Markup("{} <small>{}</small>").format(plain(case.name), plain(case.dtype))
    share = quantities.percent(case.shown.share)
    return _cells("td", (str(number), name, intensity(case.shown), _rates(case, size), share))


def _rates(case: RooflineCase, size: float) -> str:
    """Return both arms' rates in a unit of `size` [FLOP/s]."""
    return " → ".join(
        ABSENT if point is None else digits(point.achieved / size) for point in (case.base, case.head)
    )


def _cells(tag: str, contents: Sequence[str]) -> Markup:
    number, name = Markup(' class="num"'), Markup("")
    return Markup("<tr>{}</tr>").format(
        Markup("").join(
            Markup("<{0}{1}>{2}</{0}>").format(tag, name if place == _NAME else number, content)
            for place, content in enumerate(contents)
        )
    )
