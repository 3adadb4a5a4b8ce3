"""What the pages share: who is looking, and the projects that they may see."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from app.api.deps import as_reader, who_asks
from app.api.routing import Asked, Found
from app.domain.errors import AccessError
from app.services.access import Principal, Scope
from app.services.visibility import visible_projects
from app.store.repositories import restorations
from app.web.guard import cookie_of

_LARGEST_ID = 2**63 - 1


class SignInRequiredError(AccessError):
    """Nobody is signed in, and these pages are not open to everyone."""

    code = "unauthenticated"


def look(asked: Asked) -> Principal | None:
    """Return who asks, or None, and keep for the frame of the page who that is, and whether the service observes.

    Raises AccessError for a token that is not valid.
    """
    request = asked.request
    principal = who_asks(asked, cookie_of(request))
    request.state.viewer = principal
    request.state.restoration = restorations.in_force(asked.session)
    return principal


def get_viewer(asked: Asked) -> Principal | None:
    """Return who is looking; None where reading is open and nobody is signed in.

    Raises SignInRequiredError, and AccessError for a token that may not read.
    """
    principal = look(asked)
    if principal is None and not asked.service.settings.anonymous_read:
        raise SignInRequiredError("sign in to see this page")
    return None if principal is None else as_reader(principal, asked.service)


def get_person(asked: Asked) -> Principal:
    """Return who is signed in, whatever they may read. Raises SignInRequiredError."""
    principal = look(asked)
    if principal is None:
        raise SignInRequiredError("sign in to see this page")
    return principal


def get_somebody(asked: Asked) -> Principal:
    """Return the person who is signed in by name. Raises SignInRequiredError, and AccessError for a token."""
    principal = asked.of(get_person)
    if not principal.is_person:
        raise AccessError("this is for people who signed in by name, and a token did")
    return principal


def get_projects(asked: Asked) -> frozenset[int] | None:
    """Return the projects that the viewer may see, or None for all."""
    return visible_projects(asked.of(get_viewer))


def get_asker(asked: Asked) -> Principal:
    """Return who is signed in and may have something measured. Raises SignInRequiredError and AccessError."""
    viewer = asked.of(get_viewer)
    if viewer is None:
        raise SignInRequiredError("sign in to have something measured")
    viewer.require(Scope.JOBS_CREATE)
    return viewer


def get_answerer(asked: Asked) -> Principal:
    """Return who is signed in and may answer alerts. Raises SignInRequiredError and AccessError."""
    viewer = asked.of(get_viewer)
    if viewer is None:
        raise SignInRequiredError("sign in to answer alerts")
    viewer.require(Scope.ALERTS_WRITE)
    return viewer


Answerer = Annotated[Principal, Found(get_answerer)]
Asker = Annotated[Principal, Found(get_asker)]
SignedIn = Annotated[Principal, Found(get_person)]
Somebody = Annotated[Principal, Found(get_somebody)]
Viewer = Annotated[Principal | None, Found(get_viewer)]
Projects = Annotated[frozenset[int] | None, Found(get_projects)]
"""Those that the viewer may see; None for all."""
Id = Annotated[int, Path(ge=1, le=_LARGEST_ID)]
Text = Annotated[str, Query(max_length=500, pattern=r"^[^\x00]*$")]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]
Before = Annotated[int | None, Query(ge=1, le=_LARGEST_ID)]
"""Lists show what is older than this id."""
Live = Annotated[bool, Query()]
"""Whether a page of something that is going on renews itself."""
