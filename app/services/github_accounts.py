"""Whose account on GitHub opens whose account here: linked by an administrator, or by people themselves.

An account there is known by its number. Its login is what people read; it may be given up, and be somebody else's then.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, NotFoundError
from app.integrations.github.identity import Account
from app.store.repositories import access, browsers, github_accounts
from app.store.tables import GitHubAccount, User


def link_account(session: Session, user: User, account: Account, *, by: str) -> None:
    """Have an account on GitHub open a person's account, in whatever organizations it is.

    Raises ConflictError where it opens somebody else's, or they have another.
    """
    known = github_accounts.of_user(session, user.id)
    if known is not None and known.github_id == account.id:
        known.login, known.by_organization = account.login, False
    elif known is not None:
        raise ConflictError(f"“{user.name}” has the GitHub account “{known.login}”: unlink that first")
    elif not github_accounts.link(session, user.id, account.id, account.login, by_organization=False):
        raise ConflictError(f"the GitHub account “{account.login}” is linked to somebody else here")
    _note(session, "user.github_linked", user, account.login, account.id, by)


def unlink_account(session: Session, user: User, *, by: str, but: str | None = None) -> GitHubAccount:
    """Have a person's account on GitHub open nothing any more, and end their sessions but the one of a cookie's digest.

    Raises NotFoundError where they have none.
    """
    gone = github_accounts.unlink(session, user.id)
    if gone is None:
        raise NotFoundError(f"no GitHub account of “{user.name}” is linked")
    browsers.end_of_user(session, user.id, but=but)
    _note(session, "user.github_unlinked", user, gone.login, gone.github_id, by)
    return gone


def _note(session: Session, action: str, user: User, login: str, github_id: int, by: str) -> None:
    access.audit(session, by, action, user.name, github=login, github_id=github_id)
