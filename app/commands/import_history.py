"""`ratchet import`: the history that another tool kept, brought into a project. Nothing is stored twice."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.csv_commands import print_pieces
from app.domain.errors import DataError, UsageError

if TYPE_CHECKING:
    from app.commands.import_posting import Posted
    from app.commands.import_reading import ImportFiles
    from app.commands.import_spool import Spool
    from app.commands.import_summary import Found
    from app.formats.imported.documents import ImportWishes, PreparedDocument, Preparing
    from app.formats.imported.lineage import Lineage
    from app.integrations.service_client import ServiceClient

BAD_DATA = 65
"""Exit status where anything was refused, though all else came in."""


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--project", required=True, help="The project to import into; it is made if it is new.")
@click.option("--format", "wanted", help="The files' format; recognised by their content if left out.")
@click.option(
    "--repo", type=click.Path(path_type=Path), help="A clone that tells order and authors of commits."
)
@click.option(
    "--branch", help="The branch whose history it is (default: the files' own, else the project's)."
)
@click.option(
    "--device-class", help="What it was measured on (default: by what the files tell of the machine)."
)
@click.option("--commit", help="The commit, for files that name none.")
@click.option("--date", help="The commit's date (ISO 8601), for files that tell none.")
@click.option(
    "--higher-is-better", "higher", multiple=True, metavar="GLOB", help="Benchmarks where more is better."
)
@click.option(
    "--lower-is-better", "lower", multiple=True, metavar="GLOB", help="Benchmarks where less is better."
)
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and store nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
def import_(
    paths: tuple[Path, ...],
    project: str,
    wanted: str | None,
    repo: Path | None,
    branch: str | None,
    device_class: str | None,
    commit: str | None,
    date: str | None,
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Bring the history of another tool into a project.

    PATH is a file, or a folder with all that are in it: results of asv, data.js of github-action-benchmark, JSON of
    pytest-benchmark, Google Benchmark, Conbench and Bencher, Ratchet's own documents. Points are dated back to their
    commit and stand in the order of the commits. The same import again stores nothing twice, and one that was
    interrupted goes on. The exit status is 0, or 65 where some of the data was refused: the rest came in.
    """
    from app.commands.import_reading import ImportFiles
    from app.commands.import_spool import Spool
    from app.commands.import_summary import import_document, import_summary
    from app.formats.imported.documents import ImportWishes, Preparing

    wishes = ImportWishes(
        project, branch, device_class, _checked_commit(commit, repo), _checked_date(date), higher, lower
    )
    _check(wishes, wanted)
    lineage = _lineage(repo, branch) if repo is not None else None
    preparing = Preparing(wishes, datetime.now(UTC), lineage)
    files = ImportFiles(paths, preparing, wanted)
    with Spool() as spool:
        found = _judge(files, None if dry_run else spool)
        _refuse_nothing(files, found)
        posted = None if dry_run else _post(spool, preparing)
    document = import_document(wishes, files, found, posted)
    print_pieces([json.dumps(document, ensure_ascii=False) + "\n"] if as_json else [import_summary(document)])
    return BAD_DATA if preparing.refused else 0


def _checked_commit(commit: str | None, repo: Path | None) -> str | None:
    from app.formats.imported.documents import GIVE_REPO, is_abbreviated

    if commit is not None and not re.fullmatch("[0-9a-fA-F]{7,64}", commit):
        raise UsageError(
            f"--commit {commit[:80]!r} is no id of a commit: right are its 40 hexadecimal digits"
        )
    if commit is not None and repo is None and is_abbreviated(commit):
        raise UsageError(f"--commit {commit} is abbreviated: {GIVE_REPO}")
    return commit


def _checked_date(date: str | None) -> datetime | None:
    try:
        found = None if date is None else datetime.fromisoformat(date)
    except ValueError:
        raise UsageError(f"--date {date!r} is no ISO 8601 time: right is 2026-01-31T12:00:00Z") from None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


def _check(wishes: ImportWishes, wanted: str | None) -> None:
    """Refuse at once what would be refused with every document. Raises UsageError."""
    from app.formats.fields import read_name, read_project
    from app.formats.imported.registry import FORMATS
    from app.formats.problems import Problems, did_you_mean

    if wanted is not None and wanted not in FORMATS:
        raise UsageError(f"--format {wanted!r} is not known; {did_you_mean(wanted, FORMATS)}")
    names = {
        "--project": (wishes.project, read_project),
        "--branch": (wishes.branch, read_name),
        "--device-class": (wishes.device_class, read_name),
    }
    for option, (name, read) in names.items():
        problems = Problems()
        if name is not None:
            read(name, (option,), problems)
        try:
            problems.refuse_if_any()
        except DataError as error:
            raise UsageError(f"{option}: {error}") from None


def _lineage(repo: Path, branch: str | None) -> Lineage:
    """Return the branch as the clone knows it: the named one, else that of its remote by default, else HEAD."""
    from app.formats.imported.lineage import Lineage
    from app.formats.imported.model import ImportedCommit
    from app.integrations.git import Repository

    repository = Repository(repo)
    names = [branch, f"origin/{branch}"] if branch else ["origin/HEAD", "HEAD"]
    name = next((name for name in names if repository.find(name)), names[0])
    commits = [
        ImportedCommit(one.sha, one.when, parent, author=one.author, subject=one.subject)
        for one, parent in repository.history(name)
    ]
    return Lineage(branch or name, commits)


def _judge(files: ImportFiles, spool: Spool | None) -> Found:
    """Read and judge everything, and keep it in the spool, if there is one; tell how far it is."""
    from app.commands.import_summary import Found
    from app.commands.progress_line import ProgressLine

    found, line = Found(), ProgressLine()

    def take(document: PreparedDocument) -> None:
        found.add(document)
        if spool is not None:
            spool.add(document)
        line.tell(f"judged {found.runs} runs")

    files.read(take)
    if found.runs:
        line.tell(f"judged {found.runs} runs", is_last=True)
    return found


def _refuse_nothing(files: ImportFiles, found: Found) -> None:
    """Raise DataError where there is nothing to be imported, nor to be said of any file."""
    if not (found.runs or files.preparing.refused or files.preparing.left_out or files.formats):
        from app.formats.imported.registry import FORMATS
        from app.formats.imported.wording import on_one_line

        where = ", ".join(on_one_line(str(path)) for path in files.paths)
        raise DataError(
            f"{where}: no file of a known format ({', '.join(FORMATS)})", code="nothing_to_import"
        )


def _post(spool: Spool, preparing: Preparing) -> Posted:
    from app.commands.import_posting import Posted, post_all

    if not len(spool):
        return Posted()
    with _service() as client:
        return post_all(client, spool, preparing, _progress())


def _service() -> AbstractContextManager[ServiceClient]:
    from app.commands.connection import service_for_call

    return service_for_call(_say)


def _progress() -> Callable[[int, int], None]:
    """Return what tells how far it is."""
    from app.commands.progress_line import ProgressLine

    line = ProgressLine()
    return lambda done, of: line.tell(f"imported {done} of {of} runs", is_last=done == of)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
