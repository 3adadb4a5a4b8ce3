"""The search in a history's moments, held against a look at every one of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.services.timeline import _Index, is_later
from app.store.repositories.history import Moment, Unplaced

DAYS = st.integers(0, 9).map(lambda day: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day))
POSITIONS = st.none() | st.integers(0, 9)
MOMENTS = st.builds(Moment, POSITIONS, DAYS)


def unplaced(position: int | None, measured_at: datetime, is_backdated: bool) -> Unplaced:
    return Unplaced(1, "main", 1, position, None, None, None, 0, 0.0, False, measured_at, is_backdated)


@given(st.lists(MOMENTS, max_size=12), POSITIONS, DAYS, st.booleans())
def test_first_later_commit_is_the_first_of_all_that_are_later(moments, position, day, is_backdated):
    new = unplaced(position, day, is_backdated)
    index = _Index({float(place): moment for place, moment in enumerate(moments)})
    later = (float(place) for place, moment in enumerate(moments) if is_later(moment, new))
    assert index.first_later(new) == next(later, None)


@given(st.sets(st.integers(0, 20), max_size=6), st.integers(0, 20))
def test_last_place_before_another_is_the_nearest_below(places, place):
    index = _Index({float(one): Moment(None, datetime(2024, 1, 1, tzinfo=UTC)) for one in places})
    assert index.last_before(place) == max((float(one) for one in places if one < place), default=None)
