"""Runs: where stored numbers come from."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.deps import Reader, SessionDep
from app.services.query_runs import get_run

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])


@router.get("/{run}")
def get_one(session: SessionDep, reader: Reader, run: str) -> dict[str, Any]:
    """Return a run with its job, worker, environment and invocations, or an upload with its environment."""
    return get_run(session, reader, run)
