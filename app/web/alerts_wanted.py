"""Which alerts somebody wants to see, as an address of the list has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import Field, TypeAdapter

from app.services.alerts.alert_states import StateWord
from app.web.deps import Before, Text

LIST = "/alerts"

Name = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]
"""Of an owner: as long as one is stored."""


@dataclass(frozen=True)
class AlertsWanted:
    """What narrows the list; an `owner` of "" asks for those that nobody has, None for anybody's."""

    project: Text = ""
    state: StateWord = "open"
    owner: Name | None = None
    before: Before = None

    @property
    def here(self) -> str:
        """The address of the list as it is."""
        return self.address(before=self.before)

    def address(self, **changed: Any) -> str:
        """Return the address of the list with this changed, from its beginning if nothing is said of `before`."""
        its = replace(self, **{"before": None, **changed})
        told = {name: value for name, value in asdict(its).items() if value != _DEFAULTS[name]}
        return f"{LIST}?{urlencode(told)}" if told else LIST


_DEFAULTS = asdict(AlertsWanted())
_WANTED = TypeAdapter(AlertsWanted)


def wanted_at(address: str | None) -> AlertsWanted:
    """Return what an address of the list asks for; everything that is open where it is none."""
    try:
        parts = urlsplit(address or "")
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
        return _WANTED.validate_python(asked) if parts.path == LIST else AlertsWanted()
    except ValueError:
        return AlertsWanted()
