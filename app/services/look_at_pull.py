"""What a pull request is now, and what is to be measured for it: asked of the forge, without a session."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place, Pull
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.integrations.git import GitCommit, Repository
from app.services.store_bundle import keep_bundle
from app.settings import Settings, decode_settings, read_settings
from app.store.tables import Repository as RepositoryRow

SETTINGS_FILE = "ratchet.toml"
EVENT = "pull_request"


@dataclass(frozen=True)
class Seen:
    """A pull request, and of an open one where it left its branch, and what is to be measured.

    `trouble` says why nothing is, in words for the author; then there are no suites.
    """

    pull: Pull
    base: CommitRef | None = None
    head: CommitRef | None = None
    settings: Settings | None = None
    suites: tuple[str, ...] = ()
    bundle: str = ""
    """The digest of the bundle with both commits."""
    trouble: str = ""


def place_of(session: Session, repository_id: int) -> tuple[Place, int]:
    """Return where a repository is, and the forge's id of it."""
    its = session.get_one(RepositoryRow, repository_id)
    return Place(its.slug, its.installation), its.external_id


def look_at_pull(forge: Forge, settings: ServiceSettings, place: Place, repository: int, number: int) -> Seen:
    """Ask the forge for the pull request, fetch its commits, and read the settings of where it left its branch.

    Raises what the forge raises, and DataError where git cannot make sense of what was fetched.
    """
    pull = forge.pull(place, number)
    if not pull.is_open:
        return Seen(pull)
    mirror = settings.data_dir / "mirrors" / str(repository)
    with _alone(mirror):
        forge.fetch(place, mirror, f"refs/heads/{pull.base_ref}", f"refs/pull/{number}/head")
        return _read(Repository(mirror), pull, settings.data_dir / "bundles")


def _read(repository: Repository, pull: Pull, bundles: Path) -> Seen:
    head = repository.commit(pull.head_sha)
    base_sha = repository.merge_base(f"refs/heads/{pull.base_ref}", head.sha)
    if base_sha is None:
        return Seen(pull, trouble=f"it has no commit in common with {pull.base_ref}")
    base = repository.commit(base_sha)
    seen = Seen(pull, _commit(base), _commit(head))
    return _measured(repository, seen, bundles)


def _measured(repository: Repository, seen: Seen, bundles: Path) -> Seen:
    """Return what is to be measured; settings are base's: nobody changes what is measured of his change with it."""
    assert seen.base is not None
    assert seen.head is not None
    told = repository.file_at(seen.base.sha, SETTINGS_FILE)
    if told is None:
        trouble = f"{seen.pull.base_ref} has no {SETTINGS_FILE}: it tells what is measured, once it is merged"
        return Seen(seen.pull, seen.base, seen.head, trouble=trouble)
    try:
        settings = read_settings(decode_settings(told))
    except DataError as error:
        return Seen(seen.pull, seen.base, seen.head, trouble=str(error))
    suites = tuple(
        suite.name
        for suite in settings.suites
        if EVENT in suite.on
        and (not suite.paths or repository.differs(seen.base.sha, seen.head.sha, suite.paths))
    )
    if not suites:
        why = "it touches no path of a suite that is measured on pull requests"
        return Seen(seen.pull, seen.base, seen.head, settings, trouble=why)
    return Seen(
        seen.pull, seen.base, seen.head, settings, suites, _bundle(repository, seen.base, seen.head, bundles)
    )


def _bundle(repository: Repository, base: CommitRef, head: CommitRef, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=repository.path.parent, prefix="bundle-") as work:
        path = Path(work) / "commits.bundle"
        repository.bundle(path, base.sha, head.sha)
        return keep_bundle(folder, path)


def _commit(commit: GitCommit) -> CommitRef:
    return CommitRef(commit.sha, commit.subject, commit.author, commit.when)


@contextmanager
def _alone(mirror: Path) -> Iterator[None]:
    """Be the only one who fetches into a mirror."""
    mirror.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(mirror.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
