"""Examined series as a table for people: a line a series, and below it a line for each of its changes.

Where there are many series, those without a change are counted and not shown. Neither colours nor marks say whether
a change is good: a series does not know which direction is.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.analysis.arrays import median
from app.analysis.detection.results import ChangePoint, Episode
from app.reports import quantities
from app.reports.grid import GAP, LEAST_WIDTH, Column, Paint, column, fitted, joined, wrapped
from app.reports.history_documents import ExaminedSeries
from app.reports.numerals import levels, probability
from app.reports.sparkline import MARK, sparkline
from app.reports.text import fit, plain
from app.reports.words import count

MANY_SERIES = 40
"""With more series than this, those without a change are counted and not shown."""

MOST_SPARKS, LEAST_SPARKS = 60, 12
"""Characters of a sparkline on a terminal."""

SPARKS_OF_A_LOG = 40
"""Characters of a sparkline where the output is no terminal's."""

_INDENT = "  "
_MOST_NOTES = 40
_MARKS = {("step", True): "▲", ("step", False): "▼", ("ramp", True): "↗", ("ramp", False): "↘"}


def render_histories(
    examined: Sequence[ExaminedSeries], *, seconds: float, width: int | None, color: bool
) -> str:
    """Return the table of a file's series, at least one, as text that ends in a newline.

    Args:
        examined: the series in the order of the file.
        seconds: how long it took [s].
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    room = None if width is None else max(width, LEAST_WIDTH)
    paint = Paint(color)
    is_long = len(examined) > MANY_SERIES
    shown = [one for one in examined if one.found.change_points or not is_long]
    lines = _table(shown, room, paint) if shown else []
    if hidden := len(examined) - len(shown):
        told = f"and {count(hidden, 'series', 'series')} without a change (--json lists them)"
        lines += [paint(line, "faint") for line in wrapped(told, room)]
    return "\n".join([*lines, "", *_summary(examined, seconds, room)]) + "\n"


def _table(shown: Sequence[ExaminedSeries], room: int | None, paint: Paint) -> list[str]:
    table = _series_columns(shown, room)
    changes = [(one, change) for one in shown for change in one.found.change_points]
    details = fitted(
        _change_columns(changes), None if room is None else room - len(_INDENT), named=_PLACE, least=12
    )
    lines = [paint(joined(table, None), "faint")]
    row = 0
    for index, one in enumerate(shown):
        line = joined(table, index)
        is_quiet = not one.found.change_points
        lines.append(paint(line, "faint") if is_quiet else line.replace(MARK, paint(MARK, "magenta")))
        for change in one.found.change_points:
            lines.append(_INDENT + _painted(joined(details, row), details, change, paint))
            row += 1
    return lines


def _painted(line: str, details: Sequence[Column], change: ChangePoint, paint: Paint) -> str:
    """Return a change's line with its mark and size in colour."""
    size = details[0].width + len(GAP) + details[1].width
    tone = "yellow" if change.standing == "suspected" else "magenta"
    return paint(line[:size], tone) + line[size:]


def _series_columns(shown: Sequence[ExaminedSeries], room: int | None) -> list[Column]:
    name = column("series", (plain(one.name) for one in shown))
    n = column("n", (str(len(one.values)) for one in shown), right=True)
    noise = column("noise", (_noise(one) for one in shown), right=True)
    notes = column("", (fit(_notes(one), _MOST_NOTES) for one in shown), expendable=1)
    others = [n, noise, *([notes] if notes.width else [])]
    width = SPARKS_OF_A_LOG if room is None else _room_for_sparks(room, name.width, others)
    sparks = column("history", (_sparks(one, width) for one in shown))
    return fitted([name, n, sparks, noise, *others[2:]], room)


def _room_for_sparks(room: int, name_width: int, others: Sequence[Column]) -> int:
    """Return the characters of a sparkline: what names leave, who give way down to two thirds of what both have."""
    free = room - sum(one.width + len(GAP) for one in others) - len(GAP)
    return max(LEAST_SPARKS, min(MOST_SPARKS, free - min(name_width, free * 2 // 3)))


def _sparks(one: ExaminedSeries, width: int) -> str:
    level = abs(median(one.values)) if one.found.relative and len(one.values) else 1.0
    changes = [change.index for change in one.found.change_points]
    return sparkline(one.values, changes, width, spread=(one.found.noise or 0.0) * level)


def _noise(one: ExaminedSeries) -> str:
    if one.found.noise is None or one.found.relative:
        return quantities.percent(one.found.noise)
    return quantities.ABSENT if quantities.finite(one.found.noise) is None else f"{one.found.noise:.3g}"


def _notes(one: ExaminedSeries) -> str:
    """Return what happened beside changes of level: `2 spikes, noise +80 % from x 300`."""
    n_spikes = sum(episode.kind == "spike" for episode in one.found.episodes)
    variances = [_variance(one, episode) for episode in one.found.episodes if episode.kind == "variance"]
    return ", ".join([*([count(n_spikes, "spike")] if n_spikes else []), *variances])


def _variance(one: ExaminedSeries, episode: Episode) -> str:
    return f"noise {quantities.change(episode.size)} from x {one.x[episode.start]}"


# --- changes --------------------------------------------------------------------------------------------------

_PLACE = 4
"""The column that says where a change is."""


def _change_columns(changes: Sequence[tuple[ExaminedSeries, ChangePoint]]) -> list[Column]:
    found = [change for _, change in changes]
    return [
        column("", (_MARKS[change.kind, change.after >= change.before] for change in found)),
        column("", (_size(change) for change in found), right=True),
        column("", (_interval(change) for change in found), expendable=3),
        column("", (levels(change.before, change.after) for change in found), expendable=4),
        column("", (_place(one, change) for one, change in changes)),
        column("", (f"row {change.index}" for change in found), expendable=1),
        column("", (f"p {probability(change.p_value)}" for change in found), expendable=2),
        column("", (_kind(change) for change in found), expendable=5),
    ]


def _size(change: ChangePoint) -> str:
    if quantities.finite(change.change) is not None:
        return quantities.change(change.change)
    difference = quantities.finite(change.after - change.before)
    return quantities.ABSENT if difference is None else f"{difference:+.3g}".replace("-", "−")


def _interval(change: ChangePoint) -> str:
    if quantities.finite(change.ci_low) is None and quantities.finite(change.ci_high) is None:
        return ""
    return f"({quantities.interval(change.ci_low, change.ci_high)})"


def _place(one: ExaminedSeries, change: ChangePoint) -> str:
    last = min(change.end, len(one.x) - 1)
    return f"x {one.x[change.start]}" + (f" to {one.x[last]}" if last > change.start else "")


def _kind(change: ChangePoint) -> str:
    return change.kind if change.standing == "confirmed" else f"{change.kind}, {change.standing}"


def _summary(examined: Sequence[ExaminedSeries], seconds: float, room: int | None) -> list[str]:
    found = [change for one in examined for change in one.found.change_points]
    n_changed = sum(bool(one.found.change_points) for one in examined)
    n_suspected = sum(change.standing == "suspected" for change in found)
    told = f"{count(len(examined), 'series', 'series')} examined in {quantities.duration(seconds)}: "
    if not found:
        return wrapped(f"{told}no changes", room)
    suspected = f", {n_suspected} suspected" if n_suspected else ""
    return wrapped(
        f"{told}{count(len(found), 'change')} in {count(n_changed, 'series', 'series')}{suspected}", room
    )
