"""Which alerts are wanted, to an address and back."""

from __future__ import annotations

import pytest

from app.domain.alerts import AlertState
from app.web.alerts_wanted import Wanted, wanted_at


@pytest.mark.parametrize(
    ("wanted", "address"),
    [
        (Wanted(), "/alerts"),
        (Wanted(owner=""), "/alerts?owner="),
        (Wanted(owner="ada"), "/alerts?owner=ada"),
        (Wanted(project="a/b & c", state="all"), "/alerts?project=a%2Fb+%26+c&state=all"),
        (Wanted(state=AlertState.NOISE), "/alerts?state=noise"),
    ],
)
def test_what_is_wanted_is_an_address_and_the_other_way_round(wanted: Wanted, address: str) -> None:
    assert wanted.address() == address
    assert wanted_at(address) == wanted


def test_to_narrow_otherwise_begins_anew() -> None:
    assert Wanted(owner="ada", before=7).address(state="all") == "/alerts?state=all&owner=ada"
    assert Wanted(before=7).address(before=7) == "/alerts?before=7"
    assert Wanted(owner="ada").address(owner=None) == "/alerts"


@pytest.mark.parametrize(
    "address", [None, "", "/runs?owner=ada", "/alerts?state=x", "/alerts?before=0", "//["]
)
def test_what_is_no_such_address_wants_what_is_open(address: str | None) -> None:
    assert wanted_at(address) == Wanted()
