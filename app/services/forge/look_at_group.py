"""What a merge queue's group is, and what is to be measured for it: asked of the forge, without a session."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.config import ServiceSettings
from app.domain.forge import Place
from app.integrations.forge import Forge, ForgeLacksError
from app.services.forge.look_at_pull import Seen, measured
from app.services.forge.mirrors import Mirror, fetched, ours

FORK = "it comes from a fork, and what a merge queue makes of forks is not run"
GONE = "its branch, or the one that it goes into, is gone"


@dataclass(frozen=True)
class Queued:
    """A group that waits for its check."""

    group_id: int
    repository_id: int
    place: Place
    external_id: int
    pull: int
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


@dataclass(frozen=True)
class SeenGroup:
    """What is to be measured for a group, or why nothing is; nothing of a pull request whose code is not run.

    `is_on_top` says that its base is not on the branch yet: it is the group below it in the queue.
    """

    seen: Seen
    is_kept_out: bool = False
    is_on_top: bool = False


def look_at_group(forge: Forge, settings: ServiceSettings, group: Queued) -> SeenGroup:
    """Ask for the group's pull request, fetch its commits and read the settings of the branch that it goes into.

    Raises what the forge raises, and DataError where git cannot make sense of what was fetched.
    """
    pull = forge.pull(group.place, group.pull)
    if pull.is_fork:  # whoever approved its head has not seen what is made of it here
        return SeenGroup(Seen(pull, trouble=FORK), is_kept_out=True)
    refs = f"refs/heads/{group.head_ref}", f"refs/heads/{group.base_ref}"
    try:
        with fetched(forge, settings, group.place, group.external_id, *refs) as mirror:
            return _read(mirror, group, Seen(pull, group.base_sha))
    except ForgeLacksError:
        return SeenGroup(Seen(pull, trouble=GONE), is_kept_out=True)


def _read(mirror: Mirror, group: Queued, seen: Seen) -> SeenGroup:
    branch = ours(f"refs/heads/{group.base_ref}")
    merged = mirror.git.merge_base(branch, group.head_sha)
    if merged is None:
        return SeenGroup(replace(seen, trouble=f"it has no commit in common with {group.base_ref}"))
    is_on_top = not mirror.git.is_ancestor(group.base_sha, branch)
    # Of the branch, never of what waits below in the queue: settings are commands that agents run.
    return SeenGroup(measured(mirror, seen, group.head_sha, merged), is_on_top=is_on_top)
