"""Addresses that may be written to, and words that have no effect where they arrive."""

from __future__ import annotations

import ipaddress

import pytest

from app.domain.errors import DataError
from app.domain.notifications import NotifierKind
from app.integrations.notifiers import CHANNELS, Reach
from app.integrations.notifiers.posting import may_reach
from app.reports.notifications.slack_text import words

MAIL = Reach(smtp_url="smtp://mail.example.org")


@pytest.mark.parametrize("to", ["a@b@c.d", "a@b.c.", "a@.b.c", "a@b..c", "a@b", "@b.c"])
def test_what_is_no_address_of_mail_is_refused(to: str) -> None:
    with pytest.raises(DataError, match="no address"):
        CHANNELS[NotifierKind.EMAIL].checked({"to": to}, MAIL)


def test_address_of_mail_is_taken() -> None:
    assert CHANNELS[NotifierKind.EMAIL].checked({"to": "a.b+c@d.e.org"}, MAIL) == {"to": "a.b+c@d.e.org"}


@pytest.mark.parametrize(
    "ip",
    ["fec0::1", "feff::1", "::127.0.0.1", "::10.0.0.1", "::169.254.169.254", "168.63.129.16", "::1", "::"],
)
def test_what_is_private_in_another_form_is_not_reached(ip: str) -> None:
    assert not may_reach(ipaddress.ip_address(ip), Reach())


@pytest.mark.parametrize("ip", ["2606:4700::1111", "::8.8.8.8", "168.63.129.17"])
def test_what_is_public_is_reached(ip: str) -> None:
    assert may_reach(ipaddress.ip_address(ip), Reach())


def test_private_networks_are_reached_where_that_is_allowed() -> None:
    assert all(
        may_reach(ipaddress.ip_address(ip), Reach(private=True)) for ip in ("fec0::1", "168.63.129.16")
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("_urgent_ now", "ˍurgentˍ now"),
        ("read __init__", "read ˍˍinitˍˍ"),
        ("latency_p50 of a_b", "latency_p50 of a_b"),
    ],
)
def test_underscores_make_nothing_italic_in_slack(said: str, read: str) -> None:
    assert words(said) == read
