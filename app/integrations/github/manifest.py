"""The GitHub App that Ratchet is, as GitHub makes it from a manifest."""

from __future__ import annotations

from typing import Any

from app.integrations.github.identity import CALLBACK
from app.integrations.github.inspection import EVENTS, PERMISSIONS

ASKED_FOR = {**PERMISSIONS, "issues": "write"}
"""What a new app asks for: notifications may be issues. One that may only read them works, without those."""


def app_manifest(url: str, name: str, *, back_to: str = "") -> dict[str, Any]:
    """Return the manifest: what the app may do, what it is told of, and where; people can sign in by it.

    Args:
        url: where GitHub reaches the service.
        name: the app's name.
        back_to: where GitHub sends the browser once the app is made; empty for nowhere.
    """
    address = url.rstrip("/")
    return {
        **({"redirect_url": back_to} if back_to else {}),
        "name": name,
        "url": address,
        "callback_urls": [f"{address}{CALLBACK}"],
        "hook_attributes": {"url": f"{address}/webhooks/github", "active": True},
        "public": False,
        "default_permissions": dict(ASKED_FOR),
        "default_events": list(EVENTS),
    }


def creation_page(web: str, organization: str | None) -> str:
    """Return where a manifest is posted to."""
    settings = f"organizations/{organization}/settings" if organization else "settings"
    return f"{web.rstrip('/')}/{settings}/apps/new"
