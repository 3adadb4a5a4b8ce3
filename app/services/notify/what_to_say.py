"""What is to be said of an alert, by how it stands and what was said of it last."""

from __future__ import annotations

from app.domain.alerts import CLOSED_STATES
from app.domain.notifications import WORSE_BY, What, Wishes
from app.services.notify.alert_items import Standing
from app.store.tables import ToldAlert


def what_to_say(
    its: Standing, told: ToldAlert | None, wishes: Wishes, *, came_and_went: bool = False
) -> What | None:
    """Return what is to be said; None where there is nothing new. Who wants no alerts any more is told the end alone.

    Args:
        its: the alert.
        told: what was said of it last; None where nothing was.
        wishes: who is told what.
        came_and_went: whether one is told that is settled before anybody was told of it.
    """
    if told is None:
        if its.is_closed:
            return What.SETTLED if came_and_went and its.concerns(wishes) else None
        return What.NEW if its.concerns(wishes) else None
    was_closed = told.state in CLOSED_STATES
    if not wishes.of_alerts:
        return What.SETTLED if its.is_closed and not was_closed else None
    if its.is_closed != was_closed:
        return What.SETTLED if its.is_closed else What.AGAIN
    if its.is_closed:
        return None
    return What.WORSE if its.level > 0 and its.level >= WORSE_BY * told.level else None
