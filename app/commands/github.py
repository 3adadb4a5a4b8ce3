"""`ratchet github`: `connect` has GitHub make the app, `manifest` prints it, `doctor` says what keeps both apart."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.integrations.github.manifest import app_manifest, creation_page

if TYPE_CHECKING:
    from app.config import ServiceSettings

UNWELL = 1


@click.group()
def github() -> None:
    """The connection with GitHub."""


@github.command()
@click.option("--repo", "repository", help="owner/name that the token should reach; an app needs none.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def doctor(repository: str | None, as_json: bool) -> int:
    """Look at the connection with GitHub; exit status 1 where something is wrong."""
    from app.integrations.github.inspection import inspect

    found = []
    for finding in inspect(_settings(), repository):
        found.append(finding)
        if not as_json:
            click.echo(_line(finding))
    if as_json:
        click.echo(json.dumps({"findings": [vars(finding) for finding in found]}, ensure_ascii=False))
    return 0 if all(finding.is_good for finding in found) else UNWELL


def _settings() -> ServiceSettings:
    """Return the settings of the environment; of the service's own servers nothing is needed here."""
    from app.commands.processes import settings_of_environment

    unneeded = {"database_url": "postgresql://", "redis_url": "redis://"}
    lacking = {name: value for name, value in unneeded.items() if f"RATCHET_{name.upper()}" not in os.environ}
    return settings_of_environment(**lacking)


def _line(finding: Any) -> str:
    mark = "✓" if finding.is_good else "✗"
    line = f"{mark} {finding.what:<14}{finding.says}"
    styled = click.style(line, fg=None if finding.is_good else "yellow") if sys.stdout.isatty() else line
    return styled if finding.is_good else f"{styled}\n{'':<16}→ {finding.advice}"


@github.command()
@click.option("--url", required=True, help="Where GitHub reaches the service, https://…")
@click.option("--name", default="Ratchet", help="The app's name; GitHub wants one that nobody has.")
@click.option(
    "--organization", help="The organization that the app should belong to; default your own account."
)
@click.option("--github", "web", default="https://github.com", help="GitHub, or the address of one's own.")
def manifest(url: str, name: str, organization: str | None, web: str) -> None:
    """Print the app's manifest; a page to post it to is named on stderr."""
    click.echo(json.dumps(app_manifest(url, name), indent=2))
    click.echo(f"post it as `manifest` to {creation_page(web, organization)} (docs/github.md)", err=True)


@github.command()
@click.option("--url", required=True, help="Where GitHub reaches the service, https://…")
@click.option("--name", default="Ratchet", help="The app's name; GitHub wants one that nobody has.")
@click.option(
    "--organization", help="The organization that the app should belong to; default your own account."
)
@click.option("--into", type=click.Path(path_type=Path), help="Folder for its key and secrets.")
@click.option("--port", default=0, help="Port of the page on this machine; default any.")
def connect(url: str, name: str, organization: str | None, into: Path | None, port: int) -> None:
    """Have GitHub make the app from a page on this machine, and keep its key and secrets here."""
    from app.commands.github_connect import Connecting, Wanted

    known = _settings()
    folder = into or known.data_dir / "github"
    wanted = Wanted(url, name, organization, known.github_url, known.github_api, folder)
    connecting = Connecting(wanted, port)
    click.echo(f"open {connecting.address} in a browser of this machine (Ctrl-C gives it up)", err=True)
    made = connecting.wait()
    assert made is not None  # nobody stops it
    click.echo(f"{made.name} is made. Set for the service, and restart it:\n", err=True)
    click.echo(f"export RATCHET_PUBLIC_URL={shlex.quote(url)}")
    click.echo(f"export RATCHET_GITHUB_APP_ID={made.id}")
    click.echo(f"export RATCHET_GITHUB_KEY_FILE={shlex.quote(str(wanted.key_file))}")
    click.echo(f"export RATCHET_GITHUB_WEBHOOK_SECRET_FILE={shlex.quote(str(wanted.secret_file))}")
    click.echo("# People can sign in by it, too (docs/operations.md):")
    click.echo(f"# export RATCHET_GITHUB_LOGIN_CLIENT_ID={made.client_id}")
    click.echo(f"# export RATCHET_GITHUB_LOGIN_SECRET_FILE={shlex.quote(str(wanted.login_secret_file))}")
    click.echo(f"\nInstall it: {made.page}/installations/new\nThen: ratchet github doctor", err=True)
