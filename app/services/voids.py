"""Which values a void invocation spoils.

Gates void an invocation as a whole. A busy processor is the exception: what it took of a timing is known where the
measured thread was alone (`net`), and values that are no times do not feel it; those stand.
"""

from __future__ import annotations

from app.domain.metrics import METRICS
from app.store.repositories.runs import BUSY_PROCESSOR, ArmValue
from app.store.tables import Invocation


def is_void(value: ArmValue) -> bool:
    """Tell whether a value does not count."""
    if not value.void or value.metric is None:
        return value.void
    by_busy_processor = (value.void_reason or "").partition(":")[0] == BUSY_PROCESSOR
    entry = METRICS.get(value.metric)
    stands = value.is_net or (entry is not None and entry.kind == "exact")
    return not (by_busy_processor and stands)


def is_wholly_void(invocation: Invocation) -> bool:
    """Tell whether no value of an invocation counts."""
    return invocation.void and (invocation.void_reason or "").partition(":")[0] != BUSY_PROCESSOR
