"""One metric over the windows of a run: from all who told it to one number with its notes, or the reason for none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.integrations.dcgm.fields import SLOWED_BY, Field, Kind
from app.integrations.dcgm.result import Reading
from app.integrations.dcgm.series import Source
from app.integrations.dcgm.windows import (
    Kept,
    Piece,
    Sample,
    Window,
    covered_by,
    first_sightings,
    inside,
    interval_of,
    is_rising,
    levels,
    renewed_every,
    rises,
    seconds_of,
    share_with,
    total_of,
    touching,
)

LEAST_COVERAGE = 0.5
"""Below it there is no number: more than half of the time would be a guess."""
GOOD_COVERAGE = 0.8
"""Below it a note says how much the number tells of; windows of ten samples and more reach it by themselves."""
AGREE = 0.05
"""Relative difference between two exporters that is worth a note."""


@dataclass(frozen=True)
class Told:
    """The usable samples of one source: what they say piece by piece, how far apart they are, and what is to note."""

    pieces: Sequence[Piece]
    interval_s: float
    notes: tuple[str, ...] = ()


def reading(field: Field, told: Sequence[Source], windows: Sequence[Window]) -> Reading:
    """Return what the best source says; `told` must not be empty, `windows` are united."""
    readings = [_of_source(field, source, windows) for source in told]
    at = max(range(len(told)), key=lambda place: (readings[place].value is not None, readings[place].samples))
    best = readings[at]
    if len(told) == 1:
        return best
    notes = [f"told by {len(told)} sources; the one with the most samples is used: {told[at]}"]
    notes += [
        _difference(source, other)
        for source, other in zip(told, readings, strict=True)
        if _differ(_level(field, best), _level(field, other))
    ]
    return replace(best, notes=(*notes, *best.notes))


def _level(field: Field, one: Reading) -> float | None:
    """Return what can be compared: of a counter its rise per second, as one covers more than another."""
    if one.value is None or field.kind is not Kind.COUNTER or not one.covered_s:
        return one.value
    return one.value / one.covered_s


def _differ(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(a - b) > AGREE * max(abs(a), abs(b))


def _difference(source: Source, other: Reading) -> str:
    return f"another source says {other.value:.4g} {other.unit}: {source}"


def _of_source(field: Field, source: Source, windows: Sequence[Window]) -> Reading:
    about = Reading(field.metric, field.unit, field=source.field, source=source.labels)
    interval = interval_of(source.samples)
    if interval is None:
        return replace(about, reason="Prometheus has a single sample near the windows")
    values = [sample for sample in source.samples if field.is_value(sample[1])]
    refusal = _refusal(field, source, values)
    if refusal is not None:
        return replace(about, interval_s=interval, reason=refusal)
    said = _say(field, values, interval, windows)
    notes = (*_left_out(field, source, windows), *said.notes)
    return _over(field, replace(about, interval_s=said.interval_s, notes=notes), said, windows)


def _refusal(field: Field, source: Source, values: Sequence[Sample]) -> str | None:
    """Say why these samples give no number at all, None where they may."""
    if not values:
        told = source.samples[-1][1]
        return f"none of {len(source.samples)} samples is a value of {source.field}: the last is {told:g}"
    if field.kind is Kind.RATE and is_rising(values):
        return f"{source.field} rises from sample to sample as a counter does, and is a rate by DCGM's documentation"
    if field.kind is Kind.COUNTER and len({value for _, value in values}) == 1:
        return f"{source.field} stands still"
    return None


def _left_out(field: Field, source: Source, windows: Sequence[Window]) -> list[str]:
    """Note what was told in the windows and is not used."""
    notes = []
    told = [moment for moment, _ in source.samples]
    blank = [moment for moment, value in source.samples if not field.is_value(value)]
    if blanks := _within(blank, windows):
        notes.append(
            f"{blanks} of {_within(told, windows)} samples are DCGM's blanks or impossible, and left out"
        )
    if contradictions := _within(source.contradictions, windows):
        notes.append(f"at {contradictions} moments the exporter told two numbers; they are left out")
    return notes


def _within(moments: Sequence[float], windows: Sequence[Window]) -> int:
    return touching(((moment, moment) for moment in moments), windows)


def _say(field: Field, values: Sequence[Sample], interval: float, windows: Sequence[Window]) -> Told:
    if field.kind is Kind.COUNTER:
        pieces, resets = rises(values)
        times = touching(resets, windows)
        note = f"the counter began anew {_times(times)}; what it counted around then is not known"
        return Told(pieces, interval, (note,) if times else ())
    renewed = None if field.kind is Kind.MASK else renewed_every(values, interval)
    if renewed is None:
        return Told(list(levels(values, interval)), interval)
    note = (
        f"the exporter renews its values every {renewed:.3g} s (its option `-c`), "
        f"though it is scraped every {interval:.3g} s"
    )
    return Told(list(levels(first_sightings(values, renewed, interval), renewed)), renewed, (note,))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _count(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


def _over(field: Field, about: Reading, told: Told, windows: Sequence[Window]) -> Reading:
    """Return the number over the windows, where enough of them is covered."""
    kept = inside(told.pieces, windows)
    covered, asked = covered_by(kept), seconds_of(windows)
    about = replace(about, covered_s=covered, coverage=covered / asked, samples=len(kept))
    extent = f"{_count(covered)} of {_count(asked)} s"
    if covered < LEAST_COVERAGE * asked:
        return replace(about, reason=_too_little(extent, told.interval_s, windows))
    if covered < GOOD_COVERAGE * asked:
        about = replace(
            about, notes=(*about.notes, f"samples tell of {extent}, one every {told.interval_s:.3g} s")
        )
    return replace(about, value=_value(field, kept, covered), shares=_shares(field, kept))


def _too_little(extent: str, interval: float, windows: Sequence[Window]) -> str:
    longest = max(end - start for start, end in windows)
    if longest < 2 * interval:
        return f"windows of {_count(longest)} s are too short for samples every {interval:.3g} s"
    return f"samples tell of {extent} only, one every {interval:.3g} s"


def _value(field: Field, kept: Sequence[Kept], covered: float) -> float:
    if field.kind is Kind.MASK:
        return share_with(kept, sum(SLOWED_BY))
    total = field.factor * total_of(kept)
    return total if field.kind is Kind.COUNTER else total / covered


def _shares(field: Field, kept: Sequence[Kept]) -> Mapping[str, float] | None:
    """Return for each reason the share of the time in which it slowed the device down."""
    if field.kind is not Kind.MASK:
        return None
    shares = {name: share_with(kept, bit) for bit, name in SLOWED_BY.items()}
    return {name: share for name, share in shares.items() if share > 0}
