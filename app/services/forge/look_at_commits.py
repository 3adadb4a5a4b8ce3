"""Two commits of a repository, as somebody named them: asked of the forge, without a session.

Only what a branch of the repository has is measured: an id alone may be of anybody's fork, whose objects GitHub gives
out under the repository's name.
"""

from __future__ import annotations

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place
from app.domain.results import CommitRef
from app.domain.revisions import read_revision
from app.integrations.forge import Forge
from app.services.forge.comparison import Comparison
from app.services.forge.mirrors import BRANCHES, SETTINGS_FILE, Mirror, fetched


def look_at_commits(
    forge: Forge,
    settings: ServiceSettings,
    place: Place,
    external_id: int,
    branch: str,
    head: str,
    base: str | None,
    suites: tuple[str, ...] = (),
) -> Comparison:
    """Fetch the repository's branches and return the commits and head's settings.

    Without a base it is where head left the default branch.

    Raises what the forge raises, and DataError for what no branch has, and for settings that are refused.
    """
    with fetched(forge, settings, place, external_id, BRANCHES) as mirror:
        its_head = _commit(mirror, place, head)
        its_base = _commit(mirror, place, base) if base else _fork_point(mirror, branch, its_head)
        its_settings = mirror.settings_at(its_head.sha)
        if its_settings is None:
            raise DataError(f"{its_head.sha[:10]} has no {SETTINGS_FILE}", code="no_settings")
        return Comparison(its_base, its_head, its_settings, suites, mirror.bundle(its_base, its_head))


def _commit(mirror: Mirror, place: Place, text: str) -> CommitRef:
    named = read_revision(text)
    sha = mirror.on_a_branch(named)
    if sha is None:
        raise DataError(
            f"{place.slug} has no branch {text!r}, and no branch has a commit {text!r}", code="no_commit"
        )
    return mirror.commit(sha)


def _fork_point(mirror: Mirror, branch: str, head: CommitRef) -> CommitRef:
    """Return where head left the default branch; of one that is on it, its parent."""
    left = mirror.git.merge_base(mirror.branch(branch), head.sha)
    base = mirror.git.parent(head.sha) if left == head.sha else left
    if base is None:
        raise DataError(
            f"nothing is before {head.sha[:10]} on {branch}: say what it is held against", code="no_base"
        )
    return mirror.commit(base)
