"""The report's pictures as compact inline SVG: interval bars, samples in time order, the interval as pairs came in.

A picture is shapes and tick labels only; colours come from the style sheet through classes, so that it follows light
and dark. Coordinates are whole pixels of the view box: a report of hundreds of cases has to stay small. Dots are
zero-length strokes with a cap (round for base, square for head), the shortest way to write a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from app.domain.results import Better, Estimate, Look
from app.reports import quantities
from app.reports.ranking import worse_bounds, worse_ln
from app.reports.scale import EffectScale, Thresholds, effect_scale, tick_label
from app.reports.svg import text
from app.reports.text import plain, shorten

WIDTH, HEIGHT = 400, 196
_SHORT_SYMBOL = 3
"""Characters of a unit that fit behind the number at a tick."""
_LONGEST_UNIT = 24
_LABEL_HEIGHT = 0.24
"""What a line of the labels takes of an axis of effects, which is 2 long."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, WIDTH - 10, 12, HEIGHT - 28


# --- both arms' values in time order --------------------------------------------------------------------------


def samples_picture(
    estimates: Sequence[Estimate], unit: str, base_level: float | None, head_level: float | None, label: str
) -> Markup:
    """Return every invocation's value in time order, pairs joined by a line and void ones hollow.

    Args:
        estimates: in time order; values that are not finite are left out. None left: an empty string.
        unit: the values' unit, for the axis.
        base_level: what base's values are in one number, drawn as a dashed line; None for none.
        head_level: the same of head, drawn as a solid line; None for none.
        label: what the picture shows, for those who do not see it.
    """
    shown = [e for e in estimates if math.isfinite(e.value)]
    if not shown:
        return Markup("")
    low, high = _value_range([e.value for e in shown if not e.void] or [e.value for e in shown])
    points = [(e, _spread(index, len(shown)), _y(e.value, low, high)) for index, e in enumerate(shown)]
    shapes = [_grid_of_values(low, high, unit)]
    shapes += [
        Markup('<path class="{}" d="M{} {}H{}"/>').format(f"level {arm}", _LEFT, _y(level, low, high), _RIGHT)
        for arm, level in (("base", base_level), ("head", head_level))
        if level is not None and math.isfinite(level)
    ]
    shapes += [_pair_lines(points), *_dots(points), _time_axis(shown)]
    shapes += [_unit_below(low, high, unit)]
    return _picture(label, shapes)


def _value_range(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or abs(high) * 0.01 or 1.0
    return low - margin, high + margin


def _spread(index: int, count: int) -> int:
    return round((_LEFT + 8) + index * (_RIGHT - _LEFT - 16) / max(count - 1, 1))


def _y(value: float, low: float, high: float) -> int:
    share = (value - low) / (high - low)
    return round(_BOTTOM - max(0.0, min(1.0, share)) * (_BOTTOM - _TOP))


def _pair_lines(points: Sequence[tuple[Estimate, int, int]]) -> Markup:
    last: dict[int, tuple[int, int]] = {}
    lines = []
    for estimate, x, y in points:
        if estimate.pair in last:
            before_x, before_y = last[estimate.pair]
            lines.append(f"M{before_x} {before_y}L{x} {y}")
        last[estimate.pair] = (x, y)
    return Markup('<path class="pair" d="{}"/>').format("".join(lines)) if lines else Markup("")


def _dots(points: Sequence[tuple[Estimate, int, int]]) -> list[Markup]:
    """Return the points of both arms; a void one is a dot with a smaller one of the background on top."""
    drawn = []
    for arm in ("base", "head"):
        for void in (False, True):
            path = _points((x, y) for e, x, y in points if e.arm == arm and e.void is void)
            if path:
                drawn.append(Markup('<path class="p {}" d="{}"/>').format(arm, path))
            if path and void:
                drawn.append(Markup('<path class="p {} hole" d="{}"/>').format(arm, path))
    return drawn


def _points(places: Iterable[tuple[int, int]]) -> str:
    return "".join(f"M{x} {y}h0" for x, y in places)


def _grid_of_values(low: float, high: float, unit: str) -> Markup:
    symbol, size = quantities.display_unit(max(abs(low), abs(high)), unit)
    step = _round_step((high - low) / size / 4)
    first = math.ceil(low / size / step)
    ticks = [n * step for n in range(first, first + 6) if n * step * size <= high]
    decimals = max(0, -math.floor(math.log10(step)))
    lines = "".join(f"M{_LEFT} {_y(tick * size, low, high)}H{_RIGHT}" for tick in ticks)
    beside = symbol if len(symbol) <= _SHORT_SYMBOL else ""
    labels = [
        text(_LEFT - 6, _y(tick * size, low, high) + 4, f"{tick:.{decimals}f} {beside}".strip(), "end")
        for tick in ticks
    ]
    return Markup('<path class="grid" d="{}"/>{}').format(lines, Markup("").join(labels))


def _unit_below(low: float, high: float, unit: str) -> Markup:
    """Return the unit of the values in the middle of the time axis, where it is too long to stand at each tick."""
    symbol, _ = quantities.display_unit(max(abs(low), abs(high)), unit)
    is_long = len(symbol) > _SHORT_SYMBOL
    label = f"in {shorten(plain(symbol), _LONGEST_UNIT)}"
    return text((_LEFT + _RIGHT) // 2, HEIGHT - 8, label, "mid") if is_long else Markup("")


def _round_step(rough: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def _time_axis(shown: Sequence[Estimate]) -> Markup:
    first, last = shown[0].pair + 1, shown[-1].pair + 1
    left = text(_LEFT, HEIGHT - 8, f"pair {first}")
    return left if first == last else left + text(_RIGHT, HEIGHT - 8, f"pair {last}", "end")


# --- the interval as pairs came in ----------------------------------------------------------------------------


def looks_picture(
    looks: Sequence[Look], better: Better, limits: Thresholds, label: str, *, with_bounds: bool = False
) -> Markup:
    """Return the interval after each block as a line with the estimate on it, worse at the top, the last one bold.

    Looks whose change has no logarithm are left out; none left: an empty string. Tick labels are raw changes, so
    that they read like the numbers in the table. `with_bounds` draws the one-sided bounds as well, which settled a
    case that is `no_regression`.
    """
    looks = [look for look in looks if worse_ln(look.change, better) is not None]
    seen = [(look.n_pairs, worse_ln(look.change, better) or 0.0, *worse_bounds(look.low, look.high, better))
            for look in looks]  # fmt: skip
    if not seen:
        return Markup("")
    scale = effect_scale(limits.tolerance, [effect for _, effect, _, _ in seen[-3:]], _known(*seen[-1][2:]))
    xs = [_pairs_x(n, seen[0][0], seen[-1][0]) for n, *_ in seen]
    middle = [_effect_y(scale, effect) for _, effect, _, _ in seen]
    bottom = [_effect_y(scale, -math.inf if low is None else low) for _, _, low, _ in seen]
    top = [_effect_y(scale, math.inf if high is None else high) for _, _, _, high in seen]
    shapes = [
        _grid_of_effects(scale, limits, better),
        Markup('<path class="past" d="{}"/>').format(_spans(xs[:-1], top, bottom)),
        Markup('<path class="p past" d="{}"/>').format(_points(zip(xs[:-1], middle, strict=False))),
        Markup('<path class="now" d="{}M{} {}h8m-8 {}h8"/>').format(
            _spans(xs[-1:], top[-1:], bottom[-1:]), xs[-1] - 4, top[-1], bottom[-1] - top[-1]
        ),
        _bounds(scale, [worse_ln(look.bound_pass, better) for look in looks], xs)
        if with_bounds
        else Markup(""),
        Markup('<path class="p now" d="M{} {}h0"/>').format(xs[-1], middle[-1]),
        _pairs_axis(seen[0][0], seen[-1][0]),
    ]
    return _picture(label, shapes)


def _known(*bounds: float | None) -> list[float]:
    return [bound for bound in bounds if bound is not None]


def _pairs_x(pairs: int, first: int, last: int) -> int:
    room = _RIGHT - _LEFT - 16
    return _LEFT + 8 + (round((pairs - first) * room / (last - first)) if last > first else room)


def _effect_y(scale: EffectScale, effect: float) -> int:
    middle = (_TOP + _BOTTOM) / 2
    return round(middle - scale.position(effect) * (_BOTTOM - _TOP) / 2)


def _spans(xs: Sequence[int], top: Sequence[int], bottom: Sequence[int]) -> str:
    return "".join(f"M{x} {high}V{low}" for x, high, low in zip(xs, top, bottom, strict=False))


def _bounds(scale: EffectScale, bounds: Sequence[float | None], xs: Sequence[int]) -> Markup:
    """Return a mark at each one-sided bound that there is, the last one, which settled the case, apart."""
    marks = [
        f"M{x - 6} {_effect_y(scale, bound)}h12" if bound is not None else ""
        for x, bound in zip(xs, bounds, strict=True)
    ]
    return Markup('<path class="bound past" d="{}"/><path class="bound" d="{}"/>').format(
        "".join(marks[:-1]), marks[-1]
    )


def _grid_of_effects(scale: EffectScale, limits: Thresholds, better: Better) -> Markup:
    def across(*effects: float) -> str:
        return "".join(f"M{_LEFT} {_effect_y(scale, effect)}H{_RIGHT}" for effect in effects)

    raw = 1 if better == "lower" else -1
    labels = [
        text(_LEFT - 6, _effect_y(scale, raw * tick) + 4, tick_label(tick), "end")
        for tick in scale.ticks(lambda _: _LABEL_HEIGHT)
    ]
    tau, tau0 = limits.tolerance, limits.minimum_effect
    return Markup(
        '<path class="tau" d="{}"/><path class="tau0" d="{}"/><path class="zero" d="{}"/>{}'
    ).format(across(-tau, tau), across(-tau0, tau0), across(0.0), Markup("").join(labels))


def _pairs_axis(first: int, last: int) -> Markup:
    right = text(_RIGHT, HEIGHT - 8, f"{last} pairs", "end")
    middle = text((_LEFT + _RIGHT) // 2, HEIGHT - 8, "↑ worse", "mid")
    return middle + right + (text(_LEFT, HEIGHT - 8, f"after {first} pairs") if first < last else "")


# --- shared ---------------------------------------------------------------------------------------------------


def _picture(label: str, shapes: Iterable[Markup]) -> Markup:
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, Markup("").join(shapes)
    )
