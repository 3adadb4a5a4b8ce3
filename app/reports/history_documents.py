"""An examined series for other programs: what `ratchet detect --json` and `--csv` print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.analysis.detection.results import ChangePoint, Episode, Examination
from app.reports.documents import number

CSV_HEADER = "series index x before after change ci_low ci_high p_value kind standing start end".split()


@dataclass(frozen=True, eq=False)
class ExaminedSeries:
    """A series with what was found in it; `x` and `values` have shape (n_points,)."""

    name: str
    x: NDArray[np.int64]
    values: NDArray[np.float64]
    found: Examination


def history_document(series: ExaminedSeries) -> dict[str, Any]:
    """Return the series as a JSON object: name, change points, then how many points, noise and episodes."""
    found = series.found
    return {
        "series": series.name,
        "change_points": [_change_point(series, change) for change in found.change_points],
        "n": len(series.values),
        "noise": number(found.noise),
        "noise_is_relative": found.relative,
        "episodes": [_episode(series, episode) for episode in found.episodes],
    }


def history_rows(series: ExaminedSeries) -> list[list[object]]:
    """Return the series' change points as rows under `CSV_HEADER`."""
    points = history_document(series)["change_points"]
    return [[series.name, *(point[key] for key in CSV_HEADER[1:])] for point in points]


def _change_point(series: ExaminedSeries, change: ChangePoint) -> dict[str, Any]:
    return {
        "index": int(change.index),
        "before": number(change.before),
        "after": number(change.after),
        "p_value": number(change.p_value),
        "x": int(series.x[change.index]),
        "change": number(change.change),
        "ci_low": number(change.ci_low),
        "ci_high": number(change.ci_high),
        "kind": change.kind,
        "standing": change.standing,
        "start": int(change.start),
        "end": int(change.end),
    }


def _episode(series: ExaminedSeries, episode: Episode) -> dict[str, Any]:
    return {
        "kind": episode.kind,
        "start": int(episode.start),
        "end": int(episode.end),
        "x": int(series.x[episode.start]),
        "size": number(episode.size),
    }
