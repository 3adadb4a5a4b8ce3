"""What was counted, in sum since ever.

A row is locked from its change to the transaction's end: whoever counts does so last, and what becomes of several rows
is done in the order of their labels, so that nobody waits in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from app.store.pipeline import in_one_trip

_ADD = """
    insert into tally as known (name, label, value, total)
    select %(name)s, label, value, total
    from unnest(%(labels)s::text[], %(values)s::float8[], %(totals)s::float8[]) as its(label, value, total)
    order by label
    on conflict (name, label)
    do update set value = known.value + excluded.value, total = known.total + excluded.total
"""

_NOTE = """
    insert into tally as known (name, label, value, until) values (%(name)s, %(label)s, %(value)s, %(until)s)
    on conflict (name, label) do update set value = excluded.value, until = excluded.until
"""


def add(session: Session, name: str, counts: Iterable[tuple[str, float, float]]) -> None:
    """Count so many more of each label, and what they come to: (label, number, sum)."""
    labels, values, totals = zip(*counts, strict=True)
    its = {"name": name, "labels": list(labels), "values": list(values), "totals": list(totals)}
    in_one_trip(session, (_ADD, its))


def note(session: Session, name: str, label: str, value: float, until: datetime) -> None:
    """Note how something stands, which holds until then."""
    in_one_trip(session, (_NOTE, {"name": name, "label": label, "value": value, "until": until}))
