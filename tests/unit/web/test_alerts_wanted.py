"""Which alerts are wanted, to an address and back."""

from __future__ import annotations

import pytest

from app.domain.alerts import AlertState
from app.web.alerts_wanted import AlertsWanted, wanted_at


@pytest.mark.parametrize(
    ("wanted", "address"),
    [
        (AlertsWanted(), "/alerts"),
        (AlertsWanted(owner=""), "/alerts?owner="),
        (AlertsWanted(owner="ada"), "/alerts?owner=ada"),
        (AlertsWanted(project="a/b & c", state="all"), "/alerts?project=a%2Fb+%26+c&state=all"),
        (AlertsWanted(state=AlertState.NOISE), "/alerts?state=noise"),
    ],
)
def test_what_is_wanted_is_an_address_and_the_other_way_round(wanted: AlertsWanted, address: str) -> None:
    assert wanted.address() == address
    assert wanted_at(address) == wanted


def test_to_narrow_otherwise_begins_anew() -> None:
    assert AlertsWanted(owner="ada", before=7).address(state="all") == "/alerts?state=all&owner=ada"
    assert AlertsWanted(before=7).address(before=7) == "/alerts?before=7"
    assert AlertsWanted(owner="ada").address(owner=None) == "/alerts"


@pytest.mark.parametrize(
    "address",
    [None, "", "/runs?owner=ada", "/alerts?state=x", "/alerts?before=0", "//[", f"/alerts?owner={'x' * 201}"],
)
def test_what_is_no_such_address_wants_what_is_open(address: str | None) -> None:
    assert wanted_at(address) == AlertsWanted()
