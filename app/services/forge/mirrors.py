"""The service's own copies of repositories: what is fetched from the forge, read, and handed to agents as bundles."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.domain.forge import Place
from app.domain.results import CommitRef
from app.domain.revisions import Revision
from app.integrations.forge import Forge
from app.integrations.git import Repository
from app.services.store_bundle import keep_bundle
from app.settings import Settings, decode_settings, read_settings

SETTINGS_FILE = "ratchet.toml"

BRANCHES = "refs/heads/*"
"""All branches of a repository, and no pull request: those may be of forks."""

_OUR_BRANCHES = "refs/branches/"
"""Where they are in a mirror, under their own names."""


@contextmanager
def fetched(
    forge: Forge, settings: ServiceSettings, place: Place, external_id: int, *refs: str
) -> Iterator[Mirror]:
    """Give a mirror with these refs as they are now; meanwhile nobody else fetches into it.

    Raises what the forge raises, and DataError where git cannot make sense of what was fetched.
    """
    path = settings.data_dir / "mirrors" / str(external_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(handle, place)
        forge.fetch(place, path, {ref: ours(ref) for ref in refs})
        yield Mirror(Repository(path), settings.data_dir / "bundles")
    finally:
        os.close(handle)


def _take(handle: int, place: Place) -> None:
    """Lock a mirror. Raises UnavailableError where another has it: nobody waits for a fetch of somebody else's."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnavailableError(f"{place.slug} is being fetched just now", code="mirror_busy") from None


def ours(ref: str) -> str:
    """Return what a ref of the forge is called in a mirror: names that would be in each other's way are in none."""
    if ref == BRANCHES:
        return f"{_OUR_BRANCHES}*"
    return f"refs/fetched/{hashlib.sha256(ref.encode()).hexdigest()[:20]}"


class Mirror:
    """One repository's copy."""

    def __init__(self, repository: Repository, bundles: Path) -> None:
        self.git = repository
        self._bundles = bundles

    def commit(self, revision: str) -> CommitRef:
        """Return the commit that a revision names."""
        found = self.git.commit(revision)
        return CommitRef(found.sha, found.subject, found.author, found.when)

    def branch(self, name: str) -> str:
        """Return what a branch is called here, where all branches were fetched."""
        return f"{_OUR_BRANCHES}{name}"

    def on_a_branch(self, named: Revision) -> str | None:
        """Return the id of a commit that a branch has, None where none does; all branches were fetched."""
        found = self.git.find(f"{self.branch(named.name)}{named.up}")
        if found is None and named.may_be_id:
            found = self.git.find(f"{named.name}{named.up}")
            return found if found is not None and self.git.is_under(found, _OUR_BRANCHES) else None
        return found

    def settings_at(self, sha: str) -> Settings | None:
        """Return a commit's settings, None where it has none. Raises DataError where they are refused."""
        told = self.git.file_at(sha, SETTINGS_FILE)
        return None if told is None else read_settings(decode_settings(told))

    def touched(self, settings: Settings, event: str, base: CommitRef, head: CommitRef) -> tuple[str, ...]:
        """Return the suites that an event starts: those of whose paths something differs between the commits."""
        return tuple(
            suite.name
            for suite in settings.suites
            if event in suite.on and (not suite.paths or self.git.differs(base.sha, head.sha, suite.paths))
        )

    def bundle(self, base: CommitRef, head: CommitRef) -> str:
        """Keep a bundle of both commits for the agents; return its digest."""
        self._bundles.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.git.path.parent, prefix="bundle-") as work:
            path = Path(work) / "commits.bundle"
            self.git.bundle(path, base.sha, head.sha)
            return keep_bundle(self._bundles, path)
