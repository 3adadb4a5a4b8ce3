"""What GitHub says, as values of ours: only what is needed of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.domain.forge import (
    MergedPull,
    OpenPull,
    Pull,
)


def open_pull_of(told_of: dict[str, Any]) -> OpenPull:
    """Return a pull request of a list."""
    return OpenPull(int(told_of["number"]), str(told_of["head"]["sha"]), str(told_of["base"]["ref"]))


def pull_of(told_of: dict[str, Any]) -> Pull:
    """Return a pull request."""
    base, head = told_of["base"], told_of["head"]
    return Pull(
        number=int(told_of["number"]),
        title=str(told_of.get("title") or ""),
        author=str((told_of.get("user") or {}).get("login") or ""),
        is_open=told_of["state"] == "open",
        is_merged=bool(told_of.get("merged")),
        base_ref=str(base["ref"]),
        head_sha=str(head["sha"]),
        head_repository=int(head["repo"]["id"]) if head.get("repo") else None,
        base_repository=int(base["repo"]["id"]),
    )


def merged_pull_of(told_of: dict[str, Any]) -> MergedPull:
    """Return a pull request that was merged."""
    merged_at = datetime.fromisoformat(str(told_of["merged_at"]))
    return MergedPull(int(told_of["number"]), str(told_of["head"]["sha"]), merged_at)
