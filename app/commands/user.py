"""`ratchet user`: the people who sign in, by name or with GitHub, in the service's database."""

from __future__ import annotations

import dataclasses
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from app.commands.columns import columns
from app.commands.database import database_url, service_session
from app.domain.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from app.integrations.github.identity import Account
    from app.services.list_users import UserFacts

HEADINGS = ("NAME", "CALLED", "E-MAIL", "GITHUB", "ROLES", "SINCE", "STATE")


NUMBER = click.option(
    "--github-id",
    type=click.IntRange(1, 2**63 - 1),
    default=None,
    help="The number of that account, where this machine cannot ask GitHub for it.",
)


@click.group()
def user() -> None:
    """Add, list and change the people who sign in, by name or with GitHub.

    Passwords are asked for, or read from the first line of the standard input; they are no arguments, which others on
    the machine can see. The database is that of RATCHET_DATABASE_URL, else that of the service which runs on the data
    folder.
    """


@user.command()
@click.argument("name")
@click.option("--called", default="", help="How pages call them; default NAME.")
@click.option("--email", default=None, help="Where they are reached.")
@click.option("--admin", is_flag=True, help="They may do everything in every project.")
@click.option(
    "--github", default=None, help="Their login on GitHub: they sign in there, and get no password."
)
@NUMBER
def add(
    name: str, called: str, email: str | None, admin: bool, github: str | None, github_id: int | None
) -> None:
    """Add somebody who signs in as NAME, or with GitHub."""
    from app.services.add_user import add_user
    from app.services.github_accounts import link_account

    account = _account(github, github_id)
    password = None if account else _password()
    with service_session() as session:
        added = add_user(session, name, password, display_name=called, email=email, is_admin=admin)
        if account:
            link_account(session, added, account, by="service")
        click.echo(f"added: {added.name}")


@user.command()
@click.argument("name")
@click.option("--github", default=None, help="Their login on GitHub.")
@NUMBER
@click.option("--undo", is_flag=True, help="That account opens nothing here any more; their sessions end.")
def link(name: str, github: str | None, github_id: int | None, undo: bool) -> None:
    """Have NAME sign in with an account on GitHub.

    It is known by its number from then on, which is looked up now: a login may be somebody else's one day.
    """
    from app.services.github_accounts import link_account, unlink_account
    from app.services.user_names import user_named

    account = _account(github, github_id)
    if (account is None) is not undo:
        raise UsageError("say either --github LOGIN or --undo")
    with service_session() as session:
        person = user_named(session, name)
        if account:
            link_account(session, person, account, by="service")
            click.echo(f"linked: {person.name} with {account.login} (number {account.id})")
        else:
            click.echo(f"unlinked: {person.name} from {unlink_account(session, person, by='service').login}")


@user.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_(as_json: bool) -> None:
    """List the people with their roles, by name. Passwords are not stored."""
    from app.services.list_users import list_users

    with service_session() as session:
        people = list_users(session)
    if as_json:
        for facts in people:
            click.echo(json.dumps(dataclasses.asdict(facts), default=datetime.isoformat, ensure_ascii=False))
    else:
        click.echo(columns([HEADINGS, *map(_row, people)]))


@user.command("set-password")
@click.argument("name")
def set_password(name: str) -> None:
    """Give NAME another password; all their sessions end."""
    from app.services.change_user import set_password as set_it
    from app.services.user_names import user_named

    password = _password()
    with service_session() as session:
        set_it(session, user_named(session, name), password, by="service")
    click.echo(f"new password: {name}")


@user.command()
@click.argument("name")
@click.option("--undo", is_flag=True, help="Let them in again.")
def disable(name: str, undo: bool) -> None:
    """Shut NAME out: their sessions end, and their tokens open nothing."""
    from app.services.change_user import disable_user, enable_user

    with service_session() as session:
        if undo:
            enable_user(session, name)
        else:
            disable_user(session, name)
    click.echo(f"{'let in again' if undo else 'disabled'}: {name}")


@user.command()
@click.argument("name")
@click.argument("role")
@click.option("--project", default=None, help="In this project; left out: in the whole installation.")
def role(name: str, role: str, project: str | None) -> None:
    """Give NAME a role: viewer, maintainer or admin of a project, or none. Of the installation: admin or none."""
    from app.services.access import Role
    from app.services.change_user import set_admin, set_role
    from app.services.user_names import user_named
    from app.services.visibility import visible_project

    known = [*Role, "none"] if project is not None else [Role.ADMIN, "none"]
    if role not in known:
        where = (
            "of a project" if project is not None else "of the installation; --project NAME names a project"
        )
        raise UsageError(f"no role {role!r} {where}; there are: {', '.join(known)}")
    with service_session() as session:
        person = user_named(session, name)
        if project is None:
            set_admin(session, person, is_admin=role == Role.ADMIN, by="service")
        else:
            its = visible_project(session, None, project)
            set_role(session, person, its, None if role == "none" else Role(role), by="service")
    click.echo(f"{name}: {role} of {project or 'the installation'}")


def _account(login: str | None, number: int | None) -> Account | None:
    """Return the account of these options on GitHub, which is asked unless its number is given; None without any."""
    from app.commands.processes import settings_of_environment
    from app.integrations.github.identity import Account, find_account

    if login is None:
        if number is not None:
            raise UsageError("--github-id needs --github LOGIN, by which people know the account")
        return None
    if number is not None:
        return Account(number, login)
    api = settings_of_environment(database_url=database_url(), redis_url="redis://").github_api
    try:
        return find_account(api, login)
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}. Try again, or give the number that {api}/users/{login} shows as `id` by --github-id"
        ) from None


def _password() -> str:
    """Return the password that is typed twice, or the first line of what is piped in."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt="Once more"))
    return sys.stdin.readline().rstrip("\r\n")


def _row(facts: UserFacts) -> tuple[str, ...]:
    from app.reports.quantities import moment

    roles = [f"{role} of {project}" for project, role in facts.roles.items()]
    told = ", ".join(["admin of the installation", *roles] if facts.is_admin else roles) or "none"
    state = "disabled" if facts.is_disabled else "live"
    who = facts.name, facts.display_name, facts.email or "", facts.github or ""
    return *who, told, moment(facts.created_at), state
