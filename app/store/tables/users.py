"""People who sign in: who they are, here and on GitHub, what they may do in which project, how often was guessed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.store.tables.base import Id, Now, Table


class User(Table):
    """A person. `name` is what they sign in with, and what is written wherever they did something."""

    __tablename__ = "user_account"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    display_name: Mapped[str]
    email: Mapped[str | None]
    password_hash: Mapped[str | None]
    """By argon2id, with its parameters and salt; none of somebody who only signs in with GitHub."""
    is_admin: Mapped[bool] = mapped_column(server_default="false")
    """Whether they may do everything in every project."""
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class GitHubAccount(Table):
    """A person's account on GitHub. Its number stays; a login may be given up, and be somebody else's then."""

    __tablename__ = "github_account"

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), primary_key=True, autoincrement=False)
    github_id: Mapped[int] = mapped_column(unique=True)
    login: Mapped[str]
    """What it was called when it was seen last."""
    by_organization: Mapped[bool]
    """Whether it opens anything only while it is in an organization whose members may come in."""
    linked_at: Mapped[Now]


class GitHubVisit(Table):
    """A browser that was sent to GitHub and is not back yet, as a person where that links their account."""

    __tablename__ = "github_visit"

    state_sha256: Mapped[str] = mapped_column(primary_key=True)
    verifier_sha256: Mapped[str]
    """Of the secret that the browser keeps in a cookie, by which GitHub is shown that the same one is back."""
    next: Mapped[str]
    """The page of ours that it wanted to see."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    began_at: Mapped[Now]


class Membership(Table):
    """The role of a person in a project."""

    __tablename__ = "membership"
    __table_args__ = (CheckConstraint("role in ('viewer', 'maintainer', 'admin')", name="role"),)

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), primary_key=True, autoincrement=False)
    project_id: Mapped[int] = mapped_column(
        ForeignKey("project.id"), primary_key=True, autoincrement=False, index=True
    )
    role: Mapped[str]
    created_at: Mapped[Now]


class SignInAttempts(Table):
    """How often somebody has tried passwords of an account, or from an address, since `began_at`."""

    __tablename__ = "sign_in_attempts"

    key: Mapped[str] = mapped_column(primary_key=True)
    attempts: Mapped[int]
    began_at: Mapped[Now]


class SavedSearch(Table):
    """A list's address that a person has given a name; `page` is where it leads, `query` what it asks for."""

    __tablename__ = "saved_search"
    __table_args__ = (
        UniqueConstraint("user_id", "page", "name"),
        CheckConstraint("page in ('/series', '/alerts')", name="page"),
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    page: Mapped[str]
    name: Mapped[str]
    query: Mapped[str]
    created_at: Mapped[Now]
