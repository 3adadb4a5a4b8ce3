"""The service that runs on a data folder already, as its own commands find it."""

from __future__ import annotations

import httpx

from app.local.data_dir import DataDir, read_secret


def connection_of(data: DataDir) -> tuple[str, str | None] | None:
    """Return address and administrator's token of the service that runs on this folder, None if none does."""
    running = data.running()
    if running is None:
        return None
    try:
        httpx.get(f"{running.url}/healthz", timeout=5)
    except httpx.HTTPError:
        return None
    return running.url, read_secret(data.admin_token)
