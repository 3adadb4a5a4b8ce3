"""Where an export that broke off goes on: behind a run that it had, as of when it began.

What came in since it began stays out, so that the two parts are one export. A place tells what it is a place of: it is
good for the same question alone, asked of the same database.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from sqlalchemy.orm import Session

from app.domain.errors import PayloadError, Problem
from app.store.repositories import exports
from app.store.repositories.exports import ExportPlace, ExportWish

Numbers = tuple[int, ...]
"""The id of the run's first result, that of the newest result when the export began, and the seal of both; above 0."""

_SEALS = 10**18 - 1


def place_in(wish: ExportWish, place: ExportPlace) -> Numbers:
    """Return the numbers of a place in an export whose `newest` is known."""
    assert wish.newest is not None
    return place.first_id, wish.newest, _seal(wish, place)


def resume_export(session: Session, wish: ExportWish, numbers: Numbers) -> ExportWish:
    """Return what is left of an export behind the place of these numbers.

    Raises PayloadError where they are no place of this export, or what stood there is gone.
    """
    if len(numbers) == 3:
        first_id, newest, seal = numbers
        place = exports.place_of(session, wish.project_id, first_id)
        found = replace(wish, after=place, newest=newest)
        if place is not None and _seal(found, place) == seal:
            return found
    what = (
        "this is no place of this export: take the `mark` of an answer to the same question by the same service; what "
        "was deleted since is no place either. Export from the beginning"
    )
    raise PayloadError([Problem("query.after", "bad_cursor", what)], code="bad_parameters")


def _seal(wish: ExportWish, place: ExportPlace) -> int:
    asked = wish.project_id, wish.benchmark, wish.since, wish.until, wish.newest
    told = json.dumps([str(one) for one in (*asked, place.measured_at.timestamp(), *place[1:])])
    return int.from_bytes(hashlib.sha256(told.encode()).digest()) % _SEALS + 1
