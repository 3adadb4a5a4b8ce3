"""A person's own tokens: for one project each, with no more than their role there allows, and for a time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy.orm import Session

from app.domain.errors import AccessError, DataError, NotFoundError
from app.services.access import Principal, Scope, issue_token
from app.services.revoke_token import revoke
from app.services.visibility import visible_project
from app.store.repositories import access, clock

MOST_DAYS = 365
"""How long a person's token lives at the most [d]."""

LONGEST_NAME = 60

GIVEN = (
    Scope.RESULTS_READ,
    Scope.RESULTS_WRITE,
    Scope.JOBS_CREATE,
    Scope.ALERTS_WRITE,
    Scope.NOTIFIERS_WRITE,
)
"""What tokens that pages issue may have: a program that administers is the installation's to allow."""


def issue_own_token(
    session: Session, person: Principal, name: str, project: str, scopes: Collection[str], *, days: int
) -> str:
    """Store a token of a person's and return its text: the only time that it can be seen.

    Raises:
        NotFoundError: there is no such project that they may see.
        AccessError: they may not do themselves what the token should.
        DataError: the name, the scopes or the time are not right.
    """
    its_name, its_scopes = require_good(name, scopes, days)
    its = visible_project(session, person, project)
    for scope in its_scopes:
        person.require(scope, its.id)
    return issue_token(
        session,
        its_name,
        its_scopes,
        project_id=its.id,
        user_id=_user_id(person),
        expires_at=clock.now(session) + timedelta(days=days),
        by=person.name,
    )


def require_good(name: str, scopes: Collection[str], days: int) -> tuple[str, list[Scope]]:
    """Return the name and the scopes of a token to be. Raises DataError where they or its time are not right."""
    its_name = name.strip()
    if not 0 < len(its_name) <= LONGEST_NAME or not its_name.isprintable():
        raise DataError(f"Give the token a name of 1 to {LONGEST_NAME} printed characters.")
    if not scopes or not set(scopes) <= set(GIVEN):
        raise DataError("Choose what the token may do.")
    if not 1 <= days <= MOST_DAYS:
        raise DataError(f"A token lives for 1 to {MOST_DAYS} days.")
    return its_name, [scope for scope in GIVEN if scope in scopes]


def revoke_own_token(session: Session, person: Principal, token_id: int) -> None:
    """Revoke a token of a person's. Raises NotFoundError for one that is none of theirs."""
    row = access.token(session, token_id)
    if row is None or row.user_id != _user_id(person):
        raise NotFoundError("there is no such token of yours")
    revoke(session, row, by=person.name)


def _user_id(person: Principal) -> int:
    if person.user_id is None or not person.is_person:
        raise AccessError("only people have tokens of their own, and a token gets no others")
    return person.user_id
