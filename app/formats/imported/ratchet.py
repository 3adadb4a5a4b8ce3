"""Ratchet's own documents: what `POST /api/v1/results` takes, one in a file or many as JSON Lines.

Everything is taken as it stands, values too: a document that names base units comes out as it went in. One that says
when it was measured keeps that. The lines of `GET /api/v1/export` that are no documents say nothing of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.formats.exported import is_of_export
from app.formats.imported.model import BadValueError, ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.values import (
    Object,
    as_list,
    as_numbers,
    as_object,
    as_params,
    as_text,
    as_time,
    is_number,
)
from app.formats.problems import shown


def recognises(document: Any) -> bool:
    """Tell it by the keys that every document has."""
    first = document[0] if isinstance(document, list) and document else document
    return isinstance(first, dict) and {"project", "commit", "device_class", "results"} <= first.keys()


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says; it goes alone."""
    is_list = isinstance(document, list)
    for index, found in enumerate(document if is_list else [document]):
        read_one(found, f"[{index}]" if is_list else "", reading)
    return reading


def read_one(found: Any, place: str, reading: Reading) -> None:
    """Note what one document says; `place` is empty where it is alone in its file."""
    if is_of_export(found):
        return
    with reading.at(place or "the file"):
        told = as_object(found, "the document")
        results = []
        for number, one in enumerate(as_list(told.get("results"), "results")):
            where = f"{place}.results[{number}]".removeprefix(".")
            with reading.at(where):
                results.append(_result(as_object(one, "the result"), where))
        measured_at = as_time(told.get("measured_at"), "measured_at")
        reading.add(
            _commit(told),
            Machine(),
            as_object(told.get("environment"), "environment"),
            results,
            place or "the file",
            measured_at=measured_at,
            device_class=as_text(told.get("device_class"), "device_class"),
            is_exact=measured_at is not None,
        )


def _commit(told: Object) -> ImportedCommit:
    position = told.get("position")
    return ImportedCommit(
        as_text(told.get("commit"), "commit"),
        as_time(told.get("time"), "time"),
        parent=as_text(told.get("parent"), "parent", "") or None,
        branch=as_text(told.get("branch"), "branch", "") or None,
        author=as_text(told.get("author"), "author", ""),
        subject=as_text(told.get("subject"), "subject", ""),
        position=position if type(position) is int else None,
    )


def _result(found: Object, place: str) -> ImportedResult:
    better = found.get("better")
    if better not in ("lower", "higher"):
        raise BadValueError(f'better is {shown(better)}; expected "lower" or "higher"')
    return ImportedResult(
        benchmark=as_text(found.get("benchmark"), "benchmark"),
        params=as_params(as_object(found.get("params"), "params")),
        metric=as_text(found.get("metric"), "metric"),
        unit=as_text(found.get("unit"), "unit"),
        better=better,
        values=as_numbers(found.get("values"), "values"),
        place=place,
        low=found["low"] if is_number(found.get("low")) else None,
        high=found["high"] if is_number(found.get("high")) else None,
        version=as_text(found.get("version"), "version", ""),
    )
