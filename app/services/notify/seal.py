"""Addresses of notifiers as they are stored: sealed, because whoever has one can write there.

They are encrypted (Fernet: AES-128-CBC and HMAC-SHA256) with the key of RATCHET_NOTIFY_KEY_FILE, or where there is none
with the installation's own, which lies in the same database: that keeps them out of what people look at, but not from
somebody who has a copy of the whole database.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.store.repositories import keys

KEY = "notifiers"
SHORTEST_B = 16


def seal(session: Session, settings: ServiceSettings, address: dict[str, str]) -> bytes:
    """Return the address as it is stored."""
    from cryptography.fernet import Fernet

    return Fernet(_key(session, settings)).encrypt(json.dumps(address, sort_keys=True).encode())


def unseal(session: Session, settings: ServiceSettings, sealed: bytes) -> dict[str, str]:
    """Return an address as it was given. Raises UnavailableError where the key is another than it was sealed with."""
    from cryptography.fernet import Fernet, InvalidToken

    try:
        told = Fernet(_key(session, settings)).decrypt(sealed)
    except InvalidToken:
        raise UnavailableError(
            "its address was sealed with another key: give RATCHET_NOTIFY_KEY_FILE the old one, or the address again"
        ) from None
    return {str(name): str(value) for name, value in json.loads(told).items()}


def _key(session: Session, settings: ServiceSettings) -> bytes:
    secret = _of_file(settings.notify_key_file) if settings.notify_key_file else keys.key(session, KEY)
    return base64.urlsafe_b64encode(hashlib.sha256(b"ratchet notifiers\0" + secret).digest())


def _of_file(name: str) -> bytes:
    try:
        secret = Path(name).read_bytes().strip()
    except OSError as error:
        raise UnavailableError(f"RATCHET_NOTIFY_KEY_FILE cannot be read: {error.strerror}") from None
    if len(secret) < SHORTEST_B:
        raise UnavailableError(f"RATCHET_NOTIFY_KEY_FILE: {name} holds less than {SHORTEST_B} bytes")
    return secret
