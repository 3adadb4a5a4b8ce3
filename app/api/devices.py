"""Devices: their grade, epoch and health."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from app.api.deps import Reader, SessionDep, allowed
from app.services.access import Principal, Scope
from app.services.list_devices import list_devices, release_device

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])

Administrator = Annotated[Principal, Depends(allowed(Scope.ADMIN))]


@router.get("")
def get_all(session: SessionDep, _: Reader) -> dict[str, Any]:
    """Return every device."""
    return list_devices(session)


@router.post("/{device}/release")
def release(session: SessionDep, principal: Administrator, device: int) -> dict[str, Any]:
    """End a quarantine."""
    return release_device(session, device, principal.name)
