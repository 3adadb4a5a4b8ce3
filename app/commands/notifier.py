"""`ratchet notifier`: who is told of a project's alerts and machines, at a running service."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from app.commands.asking import service_to_ask
from app.commands.columns import columns
from app.domain.errors import DataError, UnavailableError
from app.domain.notifications import About, NotifierKind, Pace

HEADINGS = ("NAME", "KIND", "ADDRESS", "STATE", "WAITING", "LAST MESSAGE")
PATIENCE_S = 60.0
"""How long `test` waits for what becomes of its message [s]."""

LOOK_AGAIN_S = 0.5

project_option = click.option(
    "--project", required=True, help="The project whose alerts and machines are told."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def notifier() -> None:
    """Say who is told of a project's alerts and machines: Slack, a webhook, people by e-mail, issues on GitHub.

    The service is that of RATCHET_URL (and RATCHET_TOKEN), else the one that runs on the default data folder.
    """


@notifier.command("list")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, one notifier each.")
def list_(project: str, as_json: bool) -> int:
    """List them with what they were told last; of addresses nothing secret is shown."""
    found = service_to_ask().notifiers(project)
    if as_json:
        _print_json(*found)
    elif found:
        click.echo(columns([HEADINGS, *map(_row, found)]))
    else:
        click.echo("nobody is told of its alerts, nor of its machines", err=True)
    return 0


def _row(its: dict[str, Any]) -> tuple[str, ...]:
    last = its["deliveries"][0] if its["deliveries"] else None
    told = f"{last['state']}: {last['error'] or last['title']}" if last else "none yet"
    state = "paused" if its["paused"] else its["wishes"]["pace"].replace("_", " ")
    return (its["name"], its["kind"], its["shown"], state, str(its["waiting"]), told[:100])


@notifier.command()
@click.argument("name")
@project_option
@click.option("--kind", required=True, type=click.Choice([kind.value for kind in NotifierKind]))
@click.option("--to", help="Addresses of people, for e-mail, with commas between.")
@click.option(
    "--about",
    multiple=True,
    type=click.Choice([about.value for about in About]),
    help="Only of these (default: changes and checks).",
)
@click.option("--min-change", type=float, help="Only changes from this share on: 0.05 is 5 %.")
@click.option("--owner", "owners", multiple=True, help="Only alerts of this person or team.")
@click.option("--pace", type=click.Choice([pace.value for pace in Pace]), help="At once, or as a digest.")
@click.option("--hour", type=click.IntRange(0, 23), help="Of a digest.")
@click.option("--weekday", type=click.IntRange(0, 6), help="Of a weekly digest; 0 is Monday.")
@click.option("--zone", help="Time zone of its hours, as Europe/Berlin.")
@click.option("--quiet", help="Quiet hours, as 22:00-07:00.")
@click.option("--breaks-through", type=float, help="A change so large is told in quiet hours, too: 0.2.")
@click.option("--weekly-report", is_flag=True, help="It is sent the weekly report, too.")
@json_option
def add(
    name: str,
    project: str,
    kind: str,
    to: str | None,
    about: tuple[str, ...],
    owners: tuple[str, ...],
    quiet: str | None,
    weekly_report: bool,
    as_json: bool,
    **others: Any,
) -> int:
    """Add one that is called NAME.

    The URL of a webhook, which is a secret, is read from the standard input: it is no argument, which others on the
    machine can see. A second line is the key that a webhook is signed with; without one the key is made and printed.
    """
    wishes = {option: value for option, value in others.items() if value is not None}
    wishes |= {"about": list(about)} if about else {}
    wishes |= {"owners": list(owners)} if owners else {}
    wishes |= {"reports": ["weekly_report"]} if weekly_report else {}
    if quiet is not None:
        wishes["quiet_from"], _, wishes["quiet_until"] = quiet.partition("-")
    wanted = {"name": name, "kind": kind, "address": _address(kind, to), "wishes": wishes}
    added = service_to_ask().change_notifier(project, "", wanted)
    if as_json:
        _print_json(added)
        return 0
    click.echo(f"added: {added['name']}, {added['shown']}")
    for part, value in added["made"].items():
        click.echo(f"{part}: {value}")
        click.echo("it is not shown again", err=True)
    return 0


def _address(kind: str, to: str | None) -> dict[str, str]:
    if kind == NotifierKind.EMAIL:
        if not to:
            raise DataError("give --to, the addresses of people")
        return {"to": to}
    if kind == NotifierKind.GITHUB_ISSUE:
        return {}
    if sys.stdin.isatty():
        return {"url": click.prompt("URL", hide_input=True, err=True)}
    url, key, *_ = [*(line.strip() for line in sys.stdin.read().splitlines() if line.strip()), "", ""]
    return {"url": url, "key": key} if key else {"url": url}


@notifier.command()
@click.argument("name")
@project_option
@json_option
def test(name: str, project: str, as_json: bool) -> int:
    """Send NAME a test message, and say whether it arrived: status 0 if it did, 1 if not."""
    service = service_to_ask()
    key = service.change_notifier(project, f"{name}/test")["key"]
    give_up_at = time.monotonic() + PATIENCE_S
    while True:
        its = next((its for its in service.notifier(project, name)["deliveries"] if its["key"] == key), None)
        if its is not None and (its["state"] in ("sent", "failed") or its["error"]):
            break
        if time.monotonic() > give_up_at:
            raise UnavailableError(f"nothing became of it within {PATIENCE_S:g} s: does `ratchet tasks` run?")
        time.sleep(LOOK_AGAIN_S)
    if as_json:
        _print_json(its)
    else:
        click.echo("sent" if its["state"] == "sent" else f"not sent: {its['error']}")
    return 0 if its["state"] == "sent" else 1


def _action(word: str, told: str) -> None:
    @notifier.command(word, help=told)
    @click.argument("name")
    @project_option
    @json_option
    def act(name: str, project: str, as_json: bool) -> int:
        answer = service_to_ask().change_notifier(project, f"{name}/{word}")
        if as_json:
            _print_json(answer)
        else:
            click.echo(f"{_DONE[word]}: {name}")
        return 0


_DONE = {"pause": "paused", "resume": "resumed", "remove": "removed"}
_action("pause", "Tell NAME nothing until it is resumed; what happens meanwhile is kept for then.")
_action("resume", "Go on telling NAME, also of what happened meanwhile.")
_action("remove", "Remove NAME with its address and its messages.")


def _print_json(*documents: Any) -> None:
    from app.reports.documents import json_line

    for document in documents:
        click.echo(json_line(document), nl=False)
