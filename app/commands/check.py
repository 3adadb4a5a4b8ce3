"""`ratchet check`: base against head of a local repository, measured by the service, as verdicts and exit status."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from app.commands.connection import service_for_call
from app.commands.measuring import Narrowed, NotMeasured, check_at_service, remote_request
from app.commands.named_file import refuse_unwritable, write_whole
from app.commands.progress import watch
from app.commands.signals import interrupt_on_sigterm
from app.domain.errors import DataError
from app.domain.verdicts import EXIT_STATUS, Conclusion
from app.integrations.git import GitCommit, Repository
from app.integrations.service_client import ServiceClient

SETTINGS_FILE = "ratchet.toml"
WIDTH_OF_A_LOG = 200
"""Columns of a table that is no terminal's: wide enough to cut no name."""


@click.command()
@click.option("--repo", type=click.Path(path_type=Path), help="The repository (default: here).")
@click.option("--project", help="In place of --repo: a project whose repository the service fetches itself.")
@click.option("--base", help="Revision to compare against.")
@click.option("--head", help="Revision to judge; with --project a branch or a commit's id.")
@click.option("--pull", type=click.IntRange(1), help="With --project, in place of --head: a pull request.")
@click.option("--suite", "suites", multiple=True, help="Only this suite; may be given several times.")
@click.option(
    "--device", "devices", multiple=True, help="Only this device class (a glob); may be given several times."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the table.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the HTML report to this file.")
def check(
    repo: Path | None,
    project: str | None,
    base: str | None,
    head: str | None,
    pull: int | None,
    suites: tuple[str, ...],
    devices: tuple[str, ...],
    as_json: bool,
    html: Path | None,
) -> int:
    """Check head against base. Exit status: 0 passed, 1 regressed, 2 not measured, 3 inconclusive."""
    interrupt_on_sigterm()
    narrowed = Narrowed(suites, devices)
    if project is not None:
        if repo is not None:
            raise click.UsageError(
                "give either --repo or --project: with --project the service fetches it itself"
            )
        wanted = remote_request(pull, head, base, narrowed)
        if html is not None:
            refuse_unwritable(html)
        found = check_at_service(project, wanted)
    else:
        if base is None or head is None or pull is not None:
            raise click.UsageError(
                "give --base and --head; a pull request is measured with --project and --pull"
            )
        found = _check_here(repo or Path(), base, head, html, narrowed)
    if isinstance(found, NotMeasured):
        _print(json.dumps(found.document, ensure_ascii=False) if as_json else f"not measured: {found.why}")
        return EXIT_STATUS[Conclusion.NOT_MEASURED]
    document, report = found
    if html is not None:
        write_whole(html, report.encode())
        document["report"] = str(html)
    _print(json.dumps(document, ensure_ascii=False) if as_json else _table(document))
    return EXIT_STATUS[Conclusion(document["conclusion"])]


def _check_here(
    repo: Path, base: str, head: str, html: Path | None, narrowed: Narrowed
) -> tuple[dict[str, Any], str]:
    """Return document and report of a check of a repository on this machine."""
    repository = Repository(repo)
    commits = repository.commit(base), repository.commit(head)
    settings = read_settings_of(repository, commits[1])
    if html is not None:
        refuse_unwritable(html)
    with service_for_call(_say) as client:
        wanted = request_of(
            client, repository, settings, *commits, suites=narrowed.suites, devices=narrowed.devices
        )
        document, report = run_check(client, wanted)
    if not client.stays:
        document["page"] = None
    return document, report


def run_check(
    client: ServiceClient, wanted: dict[str, Any], *, label: str = ""
) -> tuple[dict[str, Any], str]:
    """Ask for the check, follow it to its end and return its document and its report; Ctrl-C cancels it."""
    return watch(client, client.ask_check(wanted), label=label)


def read_settings_of(repository: Repository, head: GitCommit) -> str:
    """Return head's `ratchet.toml`, else the work tree's; it is checked here, before anything is started."""
    from app.settings import decode_settings, read_settings

    committed = repository.file_at(head.sha, SETTINGS_FILE)
    if committed is not None:
        text = decode_settings(committed)
    else:
        path = repository.path / SETTINGS_FILE
        if not path.is_file():
            raise DataError(
                f"{repository.path} has no {SETTINGS_FILE}, neither in {head.sha[:12]} nor in the work tree: "
                "write one (docs/settings.md begins with a complete example)",
                code="no_settings",
            )
        text = decode_settings(path.read_bytes())
    read_settings(text)
    return text


def request_of(
    client: ServiceClient,
    repository: Repository,
    settings: str,
    base: GitCommit,
    head: GitCommit,
    *,
    suites: tuple[str, ...] = (),
    devices: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the request for a check; a service elsewhere is sent the commits as a bundle."""
    return {
        "settings": settings,
        "source": _source(client, repository, base, head),
        "base": vars(base),
        "head": vars(head),
        "suites": list(suites),
        "devices": list(devices),
    }


def _source(
    client: ServiceClient, repository: Repository, base: GitCommit, head: GitCommit
) -> dict[str, str]:
    if client.reads_paths:
        return {"kind": "git", "location": str(repository.git_dir)}
    with tempfile.TemporaryDirectory(prefix="ratchet-bundle-") as folder:
        bundle = Path(folder) / "commits.bundle"
        _say("uploading the commits")
        repository.bundle(bundle, base.sha, head.sha)
        return {"kind": "bundle", "location": client.upload_bundle(bundle)}


def _table(document: dict[str, Any]) -> str:
    from app.reports.check_reading import result_of_document
    from app.reports.terminal import render_check

    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else WIDTH_OF_A_LOG
    page = document.get("page")
    return render_check(result_of_document(document), width=width, color=is_terminal, page=page)


def _print(text: str) -> None:
    """Write to standard output whatever characters it can take; a closed one is no fault."""
    if sys.stdout is not None:
        encoding = sys.stdout.encoding or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), flush=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
