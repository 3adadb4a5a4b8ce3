"""Guessing passwords is slow: so many attempts an account and an address, then nobody's password is looked at there.

An attempt is counted, and the count committed, before the password is looked at: of many at once none gets past it.
What is stored is bounded by that: an address names no more accounts than it has attempts.
"""

from __future__ import annotations

import ipaddress
from datetime import timedelta

from sqlalchemy.orm import Session

from app.services.access import digest
from app.store.repositories import attempts

WITHIN = timedelta(minutes=15)
OF_ACCOUNT, OF_ADDRESS = 10, 50
"""Attempts at one account, and from one address, within that time. Offices share an address."""


def count_attempt(session: Session, name: str | None, address: str) -> float:
    """Count an attempt to sign in; return how long no other is looked at [s], 0 where this one may be.

    `name` is what was typed as an account's; None where a token was pasted.
    """
    attempts.prune(session, within=WITHIN)
    n, left_s = attempts.count(session, _of_address(address), within=WITHIN)
    if n > OF_ADDRESS:
        return max(left_s, 1)
    if name is None:
        return 0
    n, left_s = attempts.count(session, _of_account(name), within=WITHIN)
    return max(left_s, 1) if n > OF_ACCOUNT else 0


def forget_attempts(session: Session, name: str | None, address: str) -> None:
    """Forget what was tried at an account, and this attempt from the address: what was given was right."""
    attempts.take_back(session, _of_address(address))
    if name is not None:
        attempts.forget(session, _of_account(name))


def _of_account(name: str) -> str:
    """Return the key of an account; what was typed may be a password, and is not kept."""
    return f"account {digest(name)}"


def _of_address(address: str) -> str:
    """Return the key of an address; of version 6 the network of 64 bits, which one customer has."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return f"address {address[:100]}"
    if known.version == 6:
        if known.ipv4_mapped:
            return f"address {known.ipv4_mapped}"
        return f"address {ipaddress.ip_network((known, 64), strict=False)}"
    return f"address {known}"
