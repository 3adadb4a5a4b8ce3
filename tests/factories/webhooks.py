"""A GitHub's side of a connection: its messages, signed, and the settings of a service that takes them."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from tests.factories.keys import private_key_pem

SECRET = "s3cret"


def signed(event: str, body: bytes, guid: str, *, secret: str = SECRET) -> dict[str, str]:
    """Return the headers of a message."""
    return {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
        "Content-Type": "application/json",
    }


def connected_env(folder: Path, api_url: str) -> dict[str, str]:
    """Return the environment of a service that is GitHub App 77; repositories lie in `folder`, and so does its key."""
    (folder / "key").write_text(private_key_pem())
    (folder / "secret").write_text(SECRET)
    return {
        "RATCHET_GITHUB_URL": f"file://{folder}",
        "RATCHET_GITHUB_API_URL": api_url,
        "RATCHET_GITHUB_APP_ID": "77",
        "RATCHET_GITHUB_KEY_FILE": str(folder / "key"),
        "RATCHET_GITHUB_WEBHOOK_SECRET_FILE": str(folder / "secret"),
    }
