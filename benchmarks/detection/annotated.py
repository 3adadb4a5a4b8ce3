"""Real series whose changes people have marked, and the two scores that are usual for them.

A folder holds one JSON file a series: `{"values": [...], "annotations": {"who": [indices, …], …}}`, indices 0-based, of
the first points of new regimes; a value that is missing is null. No such data is part of this repository.

The scores are those of van den Burg & Williams, "An evaluation of change point detection algorithms" (2020),
arXiv:2003.06222, section 4: F1 against all annotators, and how well the segments of each are covered.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.detection.densities import Array

MARGIN = 5
"""Points by which a found change may be off."""

Annotations = Mapping[str, Iterable[int]]
"""Annotator -> first points of new regimes, in any order."""


class AnnotatedError(Exception):
    """What is wrong with a folder of annotated series, with the file's name."""


@dataclass(frozen=True, eq=False)
class AnnotatedSeries:
    """One series. `values` and `x` have the shape (present,): what is missing is left out, `x` are rows of the file."""

    name: str
    values: Array
    x: Array
    n: int
    annotations: dict[str, tuple[int, ...]]


def read_folder(folder: Path) -> list[AnnotatedSeries]:
    """Return the series of all JSON files in a folder, by name.

    Raises:
        AnnotatedError: there is none, or one is not of the form above.
    """
    files = sorted(folder.glob("*.json"))
    if not files:
        raise AnnotatedError(f"no *.json in {folder}: name a folder of annotated series")
    return [read(file) for file in files]


def read(file: Path) -> AnnotatedSeries:
    """Return one series, named as its file.

    Raises:
        AnnotatedError: it is not of the form above.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        values = np.array([np.nan if v is None else float(v) for v in content["values"]], dtype=float)
        annotations = {str(who): tuple(marks) for who, marks in content["annotations"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnnotatedError(
            f'{file}: {error!r}; wanted is {{"values": [...], "annotations": {{"who": [indices]}}}}'
        ) from error
    _check(file, values, annotations)
    x = np.flatnonzero(np.isfinite(values))
    return AnnotatedSeries(file.stem, values[x], x, len(values), annotations)


def _check(file: Path, values: Array, annotations: Mapping[str, tuple[Any, ...]]) -> None:
    if not annotations:
        raise AnnotatedError(f"{file}: no annotators; one who saw no change has an empty list")
    if not np.isfinite(values).any():
        raise AnnotatedError(f"{file}: no values")
    for who, marks in annotations.items():
        for mark in marks:
            if type(mark) is not int or not 0 <= mark < len(values):
                raise AnnotatedError(f"{file}: {mark!r} of {who} is no index of {len(values)} values")


def f1(annotations: Annotations, found: Iterable[int], margin: int = MARGIN) -> float:
    """Return the harmonic mean of precision, against what anybody marked, and the annotators' mean recall.

    The first point, 0, is a change that everybody marks and every detector finds, so that neither is ever undefined.
    """
    alarms = {0, *found}
    marks = [{0, *one} for one in annotations.values()]
    precision = matched(set().union(*marks), alarms, margin) / len(alarms)
    recall = fmean(matched(one, alarms, margin) / len(one) for one in marks)
    return 2 * precision * recall / (precision + recall)


def matched(marks: Iterable[int], found: Iterable[int], margin: int) -> int:
    """Return how many marks, in their order, have a found change within the margin that no other mark took."""
    left, count = set(found), 0
    for mark in sorted(marks):
        near = [at for at in left if abs(at - mark) <= margin]
        if near:
            left.remove(min(near, key=lambda at: (abs(at - mark), at)))
            count += 1
    return count


def covering(annotations: Annotations, found: Iterable[int], n: int) -> float:
    """Return how much of an annotator's segments the best matching found ones cover, on average over the annotators.

    Each of the annotator's segments, weighted by its length, counts with its largest Jaccard index.
    """
    ours = _segments(found, n)
    return fmean(
        sum(len(one) * max(_jaccard(one, other) for other in ours) for one in _segments(marks, n)) / n
        for marks in annotations.values()
    )


def _segments(changes: Iterable[int], n: int) -> list[range]:
    return list(itertools.starmap(range, itertools.pairwise(sorted({0, *changes, n}))))


def _jaccard(a: range, b: range) -> float:
    common = max(0, min(a.stop, b.stop) - max(a.start, b.start))
    return common / (len(a) + len(b) - common)
