"""Signing in with GitHub: a browser is sent there and comes back once, and whom GitHub names gets a session.

What ties the way there to the way back is the visit: GitHub returns its state, and the browser alone has its verifier,
in a cookie. Of both the SHA-256 is stored. Between the two no session of the database is open.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import AccessError, ConflictError, DataError
from app.integrations.github.identity import Account, Identity, SignInApp
from app.services.access import FORGE, Principal, Role, digest
from app.services.add_user import add_user
from app.services.change_user import set_role
from app.services.github_accounts import link_account
from app.services.sign_in import Browser, begin_session
from app.services.throttle import forget_attempts
from app.store.repositories import access, github_accounts, github_visits, projects, users
from app.store.tables import GitHubAccount, GitHubVisit, User

WITHIN = timedelta(minutes=10)
"""How long a browser may stay at GitHub."""

LONGEST_NEXT = 2_000
"""Characters of the address that is led on to."""

NAMES = 20
"""How many names are tried for somebody new whose login is another's name here."""


@dataclass(frozen=True)
class Leaving:
    """A browser that leaves for GitHub: where to, and the secret that it takes along."""

    to: str
    verifier: str


def begin_visit(session: Session, app: SignInApp, leads_to: str, *, user_id: int | None = None) -> Leaving:
    """Store that a browser leaves for GitHub; the caller has had the attempt counted, and committed that.

    Args:
        session: the session.
        app: what the service is to GitHub.
        leads_to: the page of ours that it wanted to see.
        user_id: whose account is to be linked with the one there; None where somebody signs in.
    """
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    row = GitHubVisit(
        state_sha256=digest(state),
        verifier_sha256=digest(verifier),
        next=leads_to if len(leads_to) <= LONGEST_NEXT else "/",
        user_id=user_id,
    )
    github_visits.begin(session, row, within=WITHIN)
    return Leaving(app.page(state, verifier), verifier)


def end_visit(session: Session, state: str, verifier: str, browser: Browser) -> GitHubVisit | None:
    """Return the visit that a browser is back from; None where there is none any more, or it is another browser's.

    It has ended then, whoever asked.
    """
    visit = github_visits.end(session, digest(state), within=WITHIN)
    if visit is None:
        return None
    if not hmac.compare_digest(digest(verifier), visit.verifier_sha256):
        note_refusal(session, browser, why="another browser")
        return None
    return visit


def note_refusal(session: Session, browser: Browser, *, name: str = "unknown", **detail: object) -> None:
    """Write down that somebody did not get in."""
    access.audit(session, name, "browser.refused", name, address=browser.address, by="github", **detail)


def sign_in_by_github(
    session: Session, settings: ServiceSettings, identity: Identity, browser: Browser
) -> str | None:
    """Return the cookie of a new session for whoever GitHub says it is; None for who may not come in.

    Nothing tells apart who is unknown, who is disabled, and who has left the organization that let them in.
    """
    account = identity.account
    if identity.organizations and github_accounts.with_person(session, account.id) is None:
        _add_member(session, settings, account)
    link, user = github_accounts.with_person(session, account.id) or (None, None)
    told = {"github": account.login, "github_id": account.id}
    if link is None or user is None or not _may_come_in(link, user, identity):
        note_refusal(session, browser, name=user.name if user else "unknown", **told)
        return None
    link.login = account.login
    forget_attempts(session, None, browser.address)
    access.audit(
        session, user.name, "browser.signed_in", user.name, address=browser.address, by="github", **told
    )
    return begin_session(session, settings, user, browser)


def _may_come_in(link: GitHubAccount, user: User, identity: Identity) -> bool:
    return user.disabled_at is None and (bool(identity.organizations) or not link.by_organization)


def _add_member(session: Session, settings: ServiceSettings, account: Account) -> None:
    """Store somebody new for a member of an organization, unless another request has just done so."""
    with session.begin_nested() as attempt:
        user = _named_like(session, account.login)
        its = account.id, account.login
        if user is None or not github_accounts.link(session, user.id, *its, by_organization=True):
            attempt.rollback()
            return
    if settings.github_login_role:
        for project in projects.every(session):
            set_role(session, user, project, Role(settings.github_login_role), by=FORGE.name)


def _named_like(session: Session, login: str) -> User | None:
    """Return somebody new with the name of a login, or where that is not to be had with a number behind it."""
    for number in range(1, NAMES + 1):
        name = login if number == 1 else f"{login[:60]}-{number}"
        try:
            return add_user(session, name, None, display_name=login, by=FORGE.name)
        except (ConflictError, DataError):
            continue
    return None


def link_own(
    session: Session, person: Principal | None, visit: GitHubVisit, identity: Identity, browser: Browser
) -> None:
    """Link the account that a person has shown at GitHub to their own here.

    Raises AccessError where somebody else, or nobody, is signed in by now, and what `link_account` raises.
    """
    if person is None or not person.is_person or person.user_id is None or person.user_id != visit.user_id:
        raise AccessError(
            "who began to link a GitHub account is not signed in here any more; nothing was linked"
        )
    link_account(session, users.one(session, person.user_id), identity.account, by=person.name)
    forget_attempts(session, None, browser.address)
