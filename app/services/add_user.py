"""Somebody new may sign in by name."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, DataError
from app.services.passwords import hash_password
from app.services.user_names import new_name
from app.store.repositories import access, users
from app.store.tables import User

LONGEST = 200
"""Characters of a name that is shown, and of an address."""


def add_user(
    session: Session,
    name: str,
    password: str | None,
    *,
    display_name: str = "",
    email: str | None = None,
    is_admin: bool = False,
    by: str = "service",
) -> User:
    """Store a person; without a password they come in by GitHub alone, once an account there is linked.

    Raises DataError for a bad name or password, ConflictError where somebody has the name.
    """
    its_name = new_name(name)
    if access.has_project_token_named(session, its_name):
        raise DataError(f"a token of a project is called {its_name!r}: revoke it, or take another name")
    shown = display_name.strip() or its_name
    for text in (shown, email or ""):
        if len(text) > LONGEST or not text.isprintable():
            raise DataError(f"{text[:80]!r} is too long, or has characters that are not printed")
    user = users.add(
        session,
        its_name,
        display_name=shown,
        email=email or None,
        password_hash=None if password is None else hash_password(password, name=its_name),
        is_admin=is_admin,
    )
    if user is None:
        raise ConflictError(f"there is a user {its_name!r} already")
    access.audit(session, by, "user.added", its_name, is_admin=is_admin)
    return user
