"""The forms of notifiers, read into an address and wishes; and what is in them when they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.errors import DataError
from app.domain.notifications import WEEKLY_REPORT, About, NotifierKind, Pace, Wishes

ABOUT = "about "
"""How the fields are called that choose what is told of."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_WHERE = {NotifierKind.SLACK: "url", NotifierKind.WEBHOOK: "url", NotifierKind.EMAIL: "to"}
"""What of an address the one field of the form is."""


def kind_in(form: Mapping[str, str]) -> NotifierKind:
    """Return the kind that is chosen. Raises DataError for none."""
    text = form.get("kind", "")
    if text not in set(NotifierKind):
        raise DataError("Choose what is told.")
    return NotifierKind(text)


def address_in(form: Mapping[str, str], kind: NotifierKind) -> dict[str, str]:
    """Return the parts of an address that are filled in."""
    field = _WHERE.get(kind)
    found = {field: form.get("where", "")} if field else {}
    if kind is NotifierKind.WEBHOOK:
        found["key"] = form.get("key", "")
    return {name: value for name, value in found.items() if value.strip()}


def wishes_in(form: Mapping[str, str]) -> Wishes:
    """Return what is wished. Raises DataError for what cannot be."""
    pace = form.get("pace", "")
    if pace not in set(Pace):
        raise DataError("Choose when to tell.")
    through = form.get("breaks_through", "").strip()
    return Wishes(
        about=tuple(about for about in About if ABOUT + about in form),
        min_change=_share(form.get("min_change", "").strip() or "0"),
        owners=tuple(its.strip() for its in form.get("owners", "").split(",") if its.strip()),
        pace=Pace(pace),
        hour=_whole(form.get("hour", "")),
        weekday=_whole(form.get("weekday", "")),
        zone=form.get("zone", "").strip() or "UTC",
        quiet_from=form.get("quiet_from", "").strip(),
        quiet_until=form.get("quiet_until", "").strip(),
        breaks_through=_share(through) if through else None,
        empty_digests="empty_digests" in form,
        reports=(WEEKLY_REPORT,) if WEEKLY_REPORT in form else (),
    )


def filled(wishes: Wishes) -> dict[str, str]:
    """Return what a form has in it that shows these wishes."""
    through = wishes.breaks_through
    found = {
        "min_change": _percent(wishes.min_change),
        "owners": ", ".join(wishes.owners),
        "pace": str(wishes.pace),
        "hour": str(wishes.hour),
        "weekday": str(wishes.weekday),
        "zone": wishes.zone,
        "quiet_from": wishes.quiet_from,
        "quiet_until": wishes.quiet_until,
        "breaks_through": "" if through is None else _percent(through),
        **{ABOUT + about: "on" for about in wishes.about},
        **dict.fromkeys(wishes.reports, "on"),
    }
    return found | ({"empty_digests": "on"} if wishes.empty_digests else {})


def _percent(share: float) -> str:
    return f"{share * 100:.10g}"


def _share(text: str) -> float:
    """Return a share from per cent: `5`, `5 %` and `0.5` are 0.05, 0.05 and 0.005."""
    try:
        found = float(text.removesuffix("%").strip()) / 100
    except ValueError:
        raise DataError(f"{text[:20]!r} is no percentage: right is 5") from None
    if found != found:
        raise DataError("a percentage is a number: right is 5")
    return found


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3):
        raise DataError("Choose a day and an hour.")
    return int(text)
