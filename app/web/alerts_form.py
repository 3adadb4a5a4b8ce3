"""The forms that answer alerts, read: which are chosen, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.alerts import AlertState
from app.domain.errors import DataError
from app.services.access import Principal
from app.services.alerts.answer_alerts import Answer
from app.web.forms import text_in, whole_in

ALERT = "alert "
"""How the fields of the list's form are called that choose alerts."""


def chosen_in(form: Mapping[str, str]) -> list[int]:
    """Return the alerts that are chosen; what is no number chooses none."""
    named = (name.removeprefix(ALERT) for name in form if name.startswith(ALERT))
    return [id_ for id_ in map(whole_in, named) if id_ is not None]


def answer_in(form: Mapping[str, str], answerer: Principal) -> Answer:
    """Return what a filled form says. `take` makes them the answerer's own. Raises DataError for what cannot be."""
    state = form.get("state", "")
    if state and state not in set(AlertState):
        raise DataError("there is no such state: choose one of the list")
    owner = answerer.name if form.get("take") else text_in(form, "owner")
    # What is left as it was shown says nothing.
    is_meant = bool(form.get("take")) or owner != form.get("had", "")
    return Answer(AlertState(state) if state else None, owner if is_meant else None, text_in(form, "comment"))
