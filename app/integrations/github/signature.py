"""Whether a message is GitHub's: its HMAC-SHA-256 over the raw bytes, as `X-Hub-Signature-256` has it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from app.domain.errors import UnavailableError

SCHEME = "sha256="


def is_signed(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    """Say whether the body was signed with one of these secrets; every one is tried, and takes as long as another."""
    given = signature.removeprefix(SCHEME).encode("utf-8", "replace") if signature.startswith(SCHEME) else b""
    matches = [
        hmac.compare_digest(hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode(), given)
        for secret in secrets
        if secret
    ]
    return any(matches)


def secrets_of(file: str) -> list[str]:
    """Return the secrets in a file, one a line; none where the file is not named.

    Raises UnavailableError where it cannot be read.
    """
    if not file:
        return []
    try:
        return Path(file).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(
            f"RATCHET_GITHUB_WEBHOOK_SECRET_FILE: {file} cannot be read: {error}"
        ) from None
