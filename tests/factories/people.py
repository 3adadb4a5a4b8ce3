"""People who sign in by name, with roles in projects, and their browsers."""

from __future__ import annotations

from functools import cache

from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy.orm import Session

from app.services.access import Role
from app.services.passwords import hash_password
from app.store.repositories import projects, users
from app.store.tables import User
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, browser

PASSWORD = "a horse in the rain"


@cache
def _stored() -> str:
    return hash_password(PASSWORD, name="")


def person(
    session: Session, name: str, roles: dict[str, Role] | None = None, *, is_admin: bool = False
) -> User:
    """Somebody with this name and `PASSWORD`; the projects that they have roles in are made if they are new."""
    user = User(name=name, display_name=name.title(), password_hash=_stored(), is_admin=is_admin)
    session.add(user)
    session.flush()
    for project, role in (roles or {}).items():
        users.set_role(session, user.id, projects.project(session, project).id, role.value)
    return user


def sign_in_as(client: TestClient, name: str, password: str = PASSWORD, **fields: str) -> Response:
    """Send the form of the sign-in page."""
    form = {"name": name, "password": password, **fields}
    return client.post("/sign-in", data=form, headers=SAME_ORIGIN)


def browser_of(service: Service, name: str) -> TestClient:
    """A browser that somebody has signed in with."""
    client = browser(service)
    answer = sign_in_as(client, name)
    assert answer.status_code == 303, answer.text
    return client
