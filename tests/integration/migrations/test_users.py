"""Revision 0014 keeps who is signed in; the release before it goes on beside it, and nothing of people outlives it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from app.services.access import Scope, digest
from app.services.passwords import is_password
from app.services.sign_in import principal_of_cookie
from app.store.migrate import migrate
from tests.integration.migrations.test_migrations import empty

pytestmark = pytest.mark.postgres

__all__ = ["empty"]

TOKEN = "insert into token (public_id, secret_sha256, name, scopes) values ('a', '', 'ci', '{results:read}')"
OF_A_PERSON = (
    TOKEN,
    "insert into project (name) values ('acme/vision')",
    "insert into user_account (name, display_name, password_hash) values ('ada', 'Ada', '')",
    "insert into membership (user_id, project_id, role) values (1, 1, 'admin')",
    "insert into browser_session (cookie_sha256, user_id, expires_at) values ('c', 1, clock_timestamp())",
    "insert into token (public_id, secret_sha256, name, scopes, project_id, user_id)"
    " values ('b', '', 'own', '{results:read}', 1, 1)",
)
DAY = timedelta(days=1)
SESSION = (
    "insert into browser_session (cookie_sha256, token_id, expires_at)"
    " values (:cookie, 1, clock_timestamp() + interval '1 day')"
)


def test_browser_that_signed_in_before_stays_signed_in_and_others_sign_in_beside(empty: Engine) -> None:
    migrate(empty, "0014")
    migrate(empty, "-1")
    with empty.begin() as connection:
        connection.execute(text(TOKEN))
        connection.execute(text(SESSION), {"cookie": digest("before")})
    migrate(empty, "0014")
    with empty.begin() as connection:  # as the release before does it
        connection.execute(text(SESSION), {"cookie": digest("beside")})
    migrate(empty)
    with Session(empty) as session:
        for cookie in ("before", "beside"):
            principal = principal_of_cookie(session, cookie, idle=DAY)
            assert principal is not None
            assert (principal.name, principal.may(Scope.RESULTS_READ)) == ("ci", True)


def test_taken_back_it_leaves_no_token_of_a_persons_alive(empty: Engine) -> None:
    migrate(empty, "0014")
    with empty.begin() as connection:
        for statement in OF_A_PERSON:
            connection.execute(text(statement))
    migrate(empty, "-1")
    with empty.connect() as connection:
        alive = connection.scalars(text("select name from token where revoked_at is null")).all()
        assert alive == ["ci"]


def test_person_without_a_password_has_none_that_is_right_in_the_release_before(empty: Engine) -> None:
    migrate(empty, "0022")
    with empty.begin() as connection:
        connection.execute(text("insert into user_account (name, display_name) values ('ada', 'Ada')"))
        connection.execute(
            text(
                "insert into github_account (user_id, github_id, login, by_organization) values (1, 7, 'a', true)"
            )
        )
    migrate(empty, "-1")
    with empty.connect() as connection:
        stored = connection.scalars(text("select password_hash from user_account")).one()
    assert stored == ""
    assert not is_password(stored, "")
