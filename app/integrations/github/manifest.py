"""The GitHub App that Ratchet is, as GitHub makes it from a manifest."""

from __future__ import annotations

from typing import Any

from app.integrations.github.inspection import EVENTS, PERMISSIONS


def app_manifest(url: str, name: str) -> dict[str, Any]:
    """Return the manifest: what the app may do, what it is told of, and where."""
    address = url.rstrip("/")
    return {
        "name": name,
        "url": address,
        "hook_attributes": {"url": f"{address}/webhooks/github", "active": True},
        "public": False,
        "default_permissions": dict(PERMISSIONS),
        "default_events": list(EVENTS),
    }


def creation_page(web: str, organization: str | None) -> str:
    """Return where a manifest is posted to."""
    settings = f"organizations/{organization}/settings" if organization else "settings"
    return f"{web.rstrip('/')}/{settings}/apps/new"
