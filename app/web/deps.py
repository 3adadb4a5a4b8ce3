"""What the pages share: who is looking, and the one project that they may be bound to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from app.api.deps import ServiceDep, SessionDep, get_principal
from app.domain.errors import AccessError
from app.services.access import Principal, Scope, principal_of_cookie
from app.services.visibility import bound_project
from app.web.guard import cookie_of

_LARGEST_ID = 2**63 - 1


class SignInRequiredError(AccessError):
    """Nobody is signed in, and these pages are not open to everyone."""

    code = "unauthenticated"


def get_viewer(request: Request, service: ServiceDep, session: SessionDep) -> Principal | None:
    """Return who is looking; None where reading is open and nobody is signed in.

    Raises SignInRequiredError, and AccessError for a token that may not read.
    """
    principal = _principal(request, session)
    if principal is None and not service.settings.anonymous_read:
        raise SignInRequiredError("sign in to see this page")
    if principal is not None:
        principal.require(Scope.RESULTS_READ)
    request.state.viewer = principal
    return principal


def _principal(request: Request, session: SessionDep) -> Principal | None:
    if request.headers.get("authorization"):
        return get_principal(request, session)
    cookie = cookie_of(request)
    return principal_of_cookie(session, cookie) if cookie else None


def get_bound_project(viewer: Annotated[Principal | None, Depends(get_viewer)]) -> int | None:
    """Return the only project that the viewer may see, or None for all."""
    return bound_project(viewer)


def get_asker(viewer: Annotated[Principal | None, Depends(get_viewer)]) -> Principal:
    """Return who is signed in and may have something measured. Raises SignInRequiredError and AccessError."""
    if viewer is None:
        raise SignInRequiredError("sign in to have something measured")
    viewer.require(Scope.JOBS_CREATE)
    return viewer


def get_answerer(viewer: Annotated[Principal | None, Depends(get_viewer)]) -> Principal:
    """Return who is signed in and may answer alerts. Raises SignInRequiredError and AccessError."""
    if viewer is None:
        raise SignInRequiredError("sign in to answer alerts")
    viewer.require(Scope.ALERTS_WRITE)
    return viewer


Answerer = Annotated[Principal, Depends(get_answerer)]
Asker = Annotated[Principal, Depends(get_asker)]
Viewer = Annotated[Principal | None, Depends(get_viewer)]
BoundProject = Annotated[int | None, Depends(get_bound_project)]
Id = Annotated[int, Path(ge=1, le=_LARGEST_ID)]
Text = Annotated[str, Query(max_length=500, pattern=r"^[^\x00]*$")]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]
Before = Annotated[int | None, Query(ge=1, le=_LARGEST_ID)]
"""Lists show what is older than this id."""
Live = Annotated[bool, Query()]
"""Whether a page of something that is going on renews itself."""
