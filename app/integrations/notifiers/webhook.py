"""Any program that takes JSON: signed as Standard Webhooks 1.0 has it, over id, time and body."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time

from app.domain.errors import DataError
from app.domain.notifications import Letter
from app.integrations.notifiers.model import Address, Channel, Field, Reach
from app.integrations.notifiers.posting import checked_url, post, shown_url

KEY_PREFIX = "whsec_"
KEY_B = 32


def sign(key: str, message_id: str, at: int, body: bytes) -> str:
    """Return `v1,…`: the base64 of HMAC-SHA256, with the key's bytes, over `ID.TIME.BODY`."""
    said = f"{message_id}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(_bytes(key), said, hashlib.sha256).digest()).decode()


def _bytes(key: str) -> bytes:
    return base64.b64decode(key.removeprefix(KEY_PREFIX), validate=True)


def _made() -> dict[str, str]:
    return {"key": KEY_PREFIX + base64.b64encode(secrets.token_bytes(KEY_B)).decode()}


def _checked(address: Address, reach: Reach) -> dict[str, str]:
    key = address.get("key", "").strip()
    try:
        is_key = key.startswith(KEY_PREFIX) and 24 <= len(_bytes(key)) <= 64
    except ValueError:
        is_key = False
    if not is_key:
        raise DataError("a key is whsec_ and the base64 of 24 to 64 bytes; left out, one is made")
    return {"url": checked_url(address.get("url", ""), reach), "key": key}


def _deliver(address: Address, letter: Letter, reach: Reach) -> None:
    at = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Ratchet",
        "webhook-id": letter.key,
        "webhook-timestamp": str(at),
        "webhook-signature": sign(address["key"], letter.key, at, letter.body),
        "Idempotency-Key": letter.key,
    }
    post(address["url"], letter.body, headers, reach)


WEBHOOK = Channel(
    title="Webhook",
    fields=(
        Field("url", "Address", "JSON is posted there, signed.", is_secret=True),
        Field(
            "key",
            "Key",
            "whsec_…, to sign with; left out, one is made and shown once.",
            is_secret=True,
            is_optional=True,
        ),
    ),
    checked=_checked,
    shown=lambda address: shown_url(address["url"]),
    deliver=_deliver,
    made=_made,
)
