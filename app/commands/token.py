"""`ratchet token`: issues, lists and revokes API tokens in the service's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.columns import columns
from app.commands.database import service_session
from app.domain.errors import UsageError

if TYPE_CHECKING:
    from app.services.list_tokens import TokenFacts

HEADINGS = ("ID", "NAME", "SCOPES", "PROJECT", "CREATED", "LAST USED", "STATE")


class _NameFirst(click.Group):
    """A group whose first command need not be named: `ratchet token NAME --scope SCOPE` issues one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["create", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_NameFirst)
def token() -> None:
    """Issue, list and revoke API tokens.

    `ratchet token NAME --scope SCOPE` is short for `ratchet token create NAME --scope SCOPE`. The database is that of
    RATCHET_DATABASE_URL, else that of the service which runs on the data folder.
    """


@token.command()
@click.argument("name")
@click.option(
    "--scope", "scopes", multiple=True, required=True, help="What it may do; may be given several times."
)
def create(name: str, scopes: tuple[str, ...]) -> None:
    """Issue an API token called NAME and print it: the only time that it is shown."""
    from app.services.access import Scope, issue_token

    known = {scope.value: scope for scope in Scope}
    unknown = [scope for scope in scopes if scope not in known]
    if unknown:
        raise UsageError(f"no scope {unknown[0]!r}; there are: {', '.join(known)}")
    with service_session() as session:
        text = issue_token(session, name, [known[scope] for scope in scopes])
    click.echo(text)


@token.command("list")
@click.option("--all", "every", is_flag=True, help="Revoked and expired ones too.")
def list_(every: bool) -> None:
    """List the live tokens: id, name, scopes, project, when issued and last used [UTC]. Secrets are not stored."""
    from app.services.list_tokens import list_tokens

    with service_session() as session:
        rows = [_row(facts) for facts in list_tokens(session) if every or facts.state == "live"]
    click.echo(columns([HEADINGS, *rows]))


@token.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def revoke(ids: tuple[str, ...]) -> None:
    """Revoke the tokens of these ids, or beginnings of ids; all of them or, if one is unknown, none.

    A whole token (ratchet_ID_SECRET) is taken for its id.
    """
    from app.services.revoke_token import revoke_token

    with service_session() as session:
        done = [revoke_token(session, given) for given in ids]
    for one in done:
        click.echo(f"{'revoked' if one.is_new else 'was revoked before'}: {one.id} ({one.name})")


def _row(facts: TokenFacts) -> tuple[str, ...]:
    from app.reports.quantities import moment

    used = "never" if facts.last_used_at is None else moment(facts.last_used_at)
    scopes, project = " ".join(facts.scopes), facts.project or "any"
    return facts.id, facts.name, scopes, project, moment(facts.created_at), used, facts.state
