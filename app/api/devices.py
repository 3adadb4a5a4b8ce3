"""Devices: their grade, epoch and health."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from app.api.deps import Reader, SessionDep, allowed
from app.domain.errors import AccessError
from app.services.access import Principal, Scope
from app.services.list_devices import list_devices, release_device

router = APIRouter(prefix="/api/v1/devices", tags=["devices"])

Administrator = Annotated[Principal, Depends(allowed(Scope.ADMIN))]


@router.get("")
def get_all(session: SessionDep, principal: Reader) -> dict[str, Any]:
    """Return every device."""
    is_bound = principal is not None and principal.project_id is not None
    return list_devices(session, for_one_project=is_bound)


@router.post("/{device}/release")
def release(session: SessionDep, principal: Administrator, device: int) -> dict[str, Any]:
    """End a quarantine. Devices work for all projects, so that nobody does who is bound to one."""
    if principal.project_id is not None:
        raise AccessError(
            f"the token {principal.name!r} is bound to a project, and devices are released for all of them"
        )
    return release_device(session, device, principal.name)
