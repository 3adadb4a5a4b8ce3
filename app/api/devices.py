"""Devices: their grade, epoch and health."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path

from app.api.answers.service import DeviceListAnswer, ReleasedAnswer
from app.api.conditional import StoredRoute
from app.api.cursors import position, with_next
from app.api.deps import Reader, SessionDep, allowed
from app.api.describing import answers
from app.api.parameters import Cursor, Limit
from app.api.routing import Found, Router
from app.domain.errors import AccessError
from app.services.access import Principal, Scope
from app.services.list_devices import list_devices, release_device
from app.services.visibility import visible_projects

router = Router(prefix="/api/v1/devices", tags=["devices"], route_class=StoredRoute)

Administrator = Annotated[Principal, Found(allowed(Scope.ADMIN))]
DeviceId = Annotated[int, Path(ge=1, lt=2**63, description="The device's number.", examples=[2])]


@router.get("", responses=answers(DeviceListAnswer))
def get_all(
    session: SessionDep, principal: Reader, limit: Limit = 1000, cursor: Cursor = None
) -> dict[str, Any]:
    """Return the devices by their class."""
    is_bound = visible_projects(principal) is not None
    after = position("devices", cursor)
    return with_next("devices", list_devices(session, for_one_project=is_bound, after=after, limit=limit))


@router.post("/{device}/release", responses=answers(ReleasedAnswer, 404))
def release(session: SessionDep, principal: Administrator, device: DeviceId) -> dict[str, Any]:
    """End a quarantine. Devices work for all projects, so that nobody does who is of single ones."""
    if principal.where(Scope.ADMIN) is not None:
        raise AccessError(
            f"{principal.name!r} is of single projects, and devices are released for all of them"
        )
    return release_device(session, device, principal.name)
