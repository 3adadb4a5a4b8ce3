"""GitHub as a forge."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from app.domain.errors import UnavailableError
from app.domain.forge import (
    CheckText,
    CommentText,
    IssueText,
    LostMessage,
    MergedPull,
    OpenPull,
    Place,
    Pull,
    Text,
)
from app.integrations.forge import ForgeBusyError, ForgeMovedError, ForgeRefusedError, Usage
from app.integrations.github import messages
from app.integrations.github.answers import merged_pull_of, open_pull_of, pull_of
from app.integrations.github.bodies import MOST_B, check_run_body, clip_bytes, status_body
from app.integrations.github.connection import REDIRECTS, Connection, Credentials, told
from app.integrations.github.fetching import fetch_refs
from app.integrations.github.remembered import Remembered

PAGE = 100

NEWEST = 500
"""Issues among which our own is looked for, the newest first: it was made a moment ago, if it was."""

UNKNOWN_COMMIT = 422
"""What GitHub answers where it has no commit of that id."""

WRITERS = ("admin", "write")
"""Permissions of people who may push; `maintain` is told as `write`."""

ENDED = ("success", "failure", "neutral")
"""How a check run ends that something was measured for, or nothing could be."""

GONE = (*REDIRECTS, 404)
"""What GitHub answers of a repository that is called otherwise by now."""

P = ParamSpec("P")
T = TypeVar("T")


def _where_it_is(
    ask: Callable[Concatenate[GitHub, Place, P], T],
) -> Callable[Concatenate[GitHub, Place, P], T]:
    """Look for the repository by its id where GitHub does not know it by its name any more."""

    @functools.wraps(ask)
    def asked(github: GitHub, place: Place, /, *arguments: P.args, **options: P.kwargs) -> T:
        try:
            return ask(github, place, *arguments, **options)
        except ForgeRefusedError as error:
            if error.status in GONE:
                github._look_for(place)
            raise

    return asked


class GitHub:
    """One GitHub, spoken to as one identity (`integrations.forge.Forge`)."""

    def __init__(self, web: str, api: str, credentials: Credentials) -> None:
        """Take the addresses of the site and of its API."""
        self._web = web.rstrip("/")
        self._connection = Connection(api.rstrip("/"), credentials)
        self._remembered = Remembered()

    @property
    def _is_app(self) -> bool:
        return self._connection.credentials.is_app

    def usage(self) -> Usage:
        """Return what was called since this was last asked."""
        return self._connection.meter.take()

    @_where_it_is
    def pull(self, place: Place, number: int) -> Pull:
        """Return the pull request as it is now."""
        get = self._rest(place).pulls.get
        with told():
            pull = self._remembered.ask(
                (place, number), lambda tag: get(place.owner, place.name, number, headers=tag), pull_of
            )
        if place.id not in (0, pull.base_repository):  # another repository has its name by now
            self._look_for(place)
        return pull

    @_where_it_is
    def open_pulls(self, place: Place) -> list[OpenPull]:
        """Return all open pull requests."""
        pulls: list[OpenPull] = []
        for number in count(1):
            page = self._open_page(place, number)
            pulls += page
            if len(page) < PAGE:
                break
        return pulls

    def _open_page(self, place: Place, number: int) -> list[OpenPull]:
        pulls, wanted = self._rest(place).pulls, {"state": "open", "per_page": PAGE, "page": number}
        with told():
            return self._remembered.ask(
                (place, "open", number),
                lambda tag: pulls.list(place.owner, place.name, **wanted, headers=tag),
                lambda told_of: [open_pull_of(pull) for pull in told_of],
            )

    @_where_it_is
    def merged_pull(self, place: Place, sha: str, branch: str) -> MergedPull | None:
        """Return the pull request that GitHub says a commit of the branch came with.

        Of a branch that was merged into another one first GitHub names both: the one that went into this branch counts.
        """
        try:
            with told():
                answer = self._rest(place).repos.list_pull_requests_associated_with_commit(
                    place.owner, place.name, sha, per_page=PAGE
                )
        except ForgeRefusedError as error:
            if error.status == UNKNOWN_COMMIT:
                return None
            raise
        found = [pull for pull in answer.json() if pull.get("merged_at") and pull["base"]["ref"] == branch]
        of_sha = [pull for pull in found if pull.get("merge_commit_sha") == sha]
        return min(map(merged_pull_of, of_sha or found), key=lambda pull: pull.merged_at, default=None)

    def fetch(self, place: Place, into: Path, refs: Mapping[str, str]) -> None:
        """Bring refs into a bare repository; the token is in no file and on no command line."""
        try:
            token = self._connection.git_token(place.installation, place.name)
            fetch_refs(f"{self._web}/{place.slug}.git", token, into, refs)
        except ForgeBusyError:
            raise
        except UnavailableError:
            self._look_for(place)
            raise

    @_where_it_is
    def may_write(self, place: Place, login: str) -> bool:
        """Say whether this person may push; what somebody is to the repository is asked anew each time."""
        with told():
            answer = self._rest(place).repos.get_collaborator_permission_level(place.owner, place.name, login)
        return answer.json().get("permission") in WRITERS

    @_where_it_is
    def put(self, place: Place, text: Text, known_id: int | None, *, look_first: bool) -> int:
        """Create or update a check run, a commit status, a comment or an issue; return its id, an issue's number."""
        if isinstance(text, IssueText):
            return self._put_issue(place, text, known_id, look_first=look_first)
        if isinstance(text, CommentText):
            return self._put_comment(place, text, known_id, look_first=look_first)
        if self._is_app:
            return self._put_check_run(place, text, known_id, look_first=look_first)
        return self._put_status(place, text)

    @_where_it_is
    def has_ended(self, place: Place, sha: str, name: str) -> bool:
        """Say whether GitHub has an ended check run of ours on a commit; of statuses, one that says so."""
        if not self._is_app:
            with told():
                answer = self._rest(place).repos.list_commit_statuses_for_ref(
                    place.owner, place.name, sha, per_page=PAGE
                )
            newest = next((its for its in answer.json() if its["context"] == name), None)
            return newest is not None and newest["state"] in ("success", "failure")
        with told():
            answer = self._rest(place).checks.list_for_ref(
                place.owner, place.name, sha, check_name=name, filter_="all", per_page=PAGE
            )
        # What tells that nothing is measured of a commit is of no check, and bears no number of one.
        ours = re.compile(rf"{re.escape(f'{name}/{place.id}/{sha}/')}\d+(/|$)")
        runs = answer.json()["check_runs"]
        return any(ours.match(str(run.get("external_id"))) and run.get("conclusion") in ENDED for run in runs)

    def lost_messages(self, since: datetime) -> list[LostMessage]:
        """Return the failed tries that GitHub tells the app of; of a repository's own webhook it is not asked."""
        return messages.lost_messages(self._connection.kit(None).rest.apps, since) if self._is_app else []

    def deliver_again(self, message: LostMessage) -> None:
        """Have GitHub send a message once more."""
        messages.deliver_again(self._connection.kit(None).rest.apps, message)

    def _look_for(self, place: Place) -> None:
        """Raise ForgeMovedError where the repository is called otherwise by now; its id stays.

        GitHub describes no such address, but sends there who asks for a repository by its old name.
        """
        if not place.id:
            return
        try:
            with told():
                answer = self._connection.kit(place.installation).request("GET", f"/repositories/{place.id}")
        except UnavailableError:
            return
        its = answer.json()
        if str(its["full_name"]).lower() != place.slug.lower():
            raise ForgeMovedError(place, str(its["full_name"]), str(its["default_branch"]))

    def _rest(self, place: Place) -> Any:
        return self._connection.kit(place.installation).rest

    def _put_check_run(self, place: Place, text: CheckText, known_id: int | None, *, look_first: bool) -> int:
        checks = self._rest(place).checks
        known_id = known_id or (self._own_check_run(place, text) if look_first else None)
        if known_id is not None and text.annotations and self._is_annotated(place, known_id):
            text = replace(text, annotations=())
        with told():
            if known_id is None:
                data = {"head_sha": text.sha, **check_run_body(text)}
                answer = checks.create(place.owner, place.name, data=data)
            else:
                answer = checks.update(place.owner, place.name, known_id, data=check_run_body(text))
        return int(answer.json()["id"])

    def _is_annotated(self, place: Place, known_id: int) -> bool:
        """Say whether a check run has its annotations: GitHub adds those of each update to what there is."""
        with told():
            run = self._rest(place).checks.get(place.owner, place.name, known_id).json()
        return int(run["output"]["annotations_count"]) > 0

    def _own_check_run(self, place: Place, text: CheckText) -> int | None:
        with told():
            answer = self._rest(place).checks.list_for_ref(
                place.owner, place.name, text.sha, check_name=text.name, filter_="all", per_page=PAGE
            )
        runs = answer.json()["check_runs"]
        return next((int(run["id"]) for run in runs if run.get("external_id") == text.key), None)

    def _put_status(self, place: Place, text: CheckText) -> int:
        with told():
            answer = self._rest(place).repos.create_commit_status(
                place.owner, place.name, text.sha, data=status_body(text)
            )
        return int(answer.json()["id"])

    def _put_comment(self, place: Place, text: CommentText, known_id: int | None, *, look_first: bool) -> int:
        issues = self._rest(place).issues
        known_id = known_id or (self._own_comment(place, text) if look_first else None)
        data = {"body": clip_bytes(text.body, MOST_B)}
        with told():
            if known_id is None:
                answer = issues.create_comment(place.owner, place.name, text.number, data=data)
            else:
                answer = issues.update_comment(place.owner, place.name, known_id, data=data)
        return int(answer.json()["id"])

    def _own_comment(self, place: Place, text: CommentText) -> int | None:
        comments = _pages(self._rest(place).issues.list_comments, place.owner, place.name, text.number)
        for comment in comments:
            if str(comment.get("body") or "").startswith(text.marker) and self._is_ours(comment):
                return int(comment["id"])
        return None

    def _put_issue(self, place: Place, text: IssueText, known_id: int | None, *, look_first: bool) -> int:
        """Say it in the issue that there is, or in a new one; whether it is closed is said with it."""
        issues = self._rest(place).issues
        number = known_id or (self._own_issue(place, text) if look_first else None)
        data: dict[str, Any] = {"title": text.title, "body": clip_bytes(text.body, MOST_B)}
        if number is None:
            with told():
                number = int(issues.create(place.owner, place.name, data=data).json()["number"])
            if not text.is_closed:
                return number
        state = {"state": "closed", "state_reason": "completed"} if text.is_closed else {"state": "open"}
        with told():
            issues.update(place.owner, place.name, number, data=data | state)
        return number

    def _own_issue(self, place: Place, text: IssueText) -> int | None:
        found = _pages(self._rest(place).issues.list_for_repo, place.owner, place.name, state="all")
        for issue in islice(found, NEWEST):
            if str(issue.get("body") or "").startswith(text.marker) and self._is_ours(issue):
                return int(issue["number"])
        return None

    def _is_ours(self, comment: dict[str, Any]) -> bool:
        """Say whether we wrote a comment, or an issue: somebody else's that bears our marker is never edited."""
        if self._is_app:
            app = comment.get("performed_via_github_app") or {}
            return str(app.get("id")) == self._connection.credentials.app_id
        return (comment.get("user") or {}).get("login") == self._login()

    def _login(self) -> str:
        with told():
            return str(self._connection.kit(None).rest.users.get_authenticated().json()["login"])


def _pages(call: Callable[..., Any], *arguments: Any, **options: Any) -> Iterator[dict[str, Any]]:
    """Yield all that a list has, page by page."""
    for page in count(1):
        with told():
            found = call(*arguments, **options, per_page=PAGE, page=page).json()
        yield from found
        if len(found) < PAGE:
            return
