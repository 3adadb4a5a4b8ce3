"""The service as its own clients see it: a few calls over HTTP, errors in words."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from app.domain.errors import (
    AccessError,
    ConflictError,
    DataError,
    NotFoundError,
    RatchetError,
    UnavailableError,
    UsageError,
)

_ERRORS: dict[int, type[RatchetError]] = {
    400: UsageError,
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    422: DataError,
}
NO_SUCH_ROUTE = "Not Found"
"""What a service says of an address that is none of its own, instead of what there is not."""
_TIMEOUT = httpx.Timeout(30, connect=5)
_POLL_S = 20
_EXPORT_TIMEOUT_S = 600
_REPORT_TIMEOUT_S = 120
PATIENCE_S = 60.0
_PAUSE_S = 0.5
_TOKEN = re.compile(r"[!-~]*")
_PASSING = (502, 503, 504)
"""Statuses of a service that is away for a moment."""


class ServiceClient:
    """Calls the service at `url` with `token`.

    `stays` says whether it goes on when the caller is done, `reads_paths` whether its workers can read a path of ours,
    `patience_s` how long questions are asked again while it is away [s]. Raises UsageError where `token` cannot be one.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        stays: bool = True,
        reads_paths: bool = False,
        patience_s: float = PATIENCE_S,
    ) -> None:
        its_token = checked_token(token)
        headers = {"Authorization": f"Bearer {its_token}"} if its_token else {}
        self.url = url.rstrip("/")
        self.stays = stays
        self.reads_paths = reads_paths
        self._patience_s = patience_s
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=_TIMEOUT)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ask_check(self, wanted: dict[str, Any]) -> int:
        """Ask for a check and return its id."""
        return int(self._json("POST", "/api/v1/checks", json=wanted)["check"])

    def ask_measure(self, project: str, wanted: dict[str, Any]) -> int:
        """Ask for something of a connected repository to be measured, and return the request's id."""
        return int(self._json("POST", _measure(project), project=project, json=wanted)["request"])

    def measure(self, project: str, request_id: int) -> dict[str, Any]:
        """Return what came of a request, once something did, or after a while."""
        path = f"{_measure(project)}/{request_id}"
        return self._json("GET", path, project=project, params={"wait": _POLL_S})

    def progress(self, check_id: int, seen: str = "") -> dict[str, Any]:
        """Return how far the check has come, once that differs from what was `seen`, or after a while."""
        params = {"wait": _POLL_S, "seen": seen}
        return self._json("GET", f"/api/v1/checks/{check_id}/progress", params=params)

    def cancel(self, check_id: int) -> None:
        """Cancel the check."""
        self._json("POST", f"/api/v1/checks/{check_id}/cancel")

    def check(self, check_id: int) -> dict[str, Any]:
        """Return the check's document."""
        return self._json("GET", f"/api/v1/checks/{check_id}")

    def report(self, check_id: int) -> str:
        """Return the check's HTML report."""
        return self._send("GET", f"/api/v1/checks/{check_id}/report").text

    def devices(self) -> list[dict[str, Any]]:
        """Return the service's devices, with grade, epoch and health."""
        return list(self._json("GET", "/api/v1/devices")["devices"])

    def find_series(self, wanted: Mapping[str, str], limit: int) -> dict[str, Any]:
        """Return `{series, more}`: the series that have what is wanted, at most so many."""
        return self._json("GET", "/api/v1/series", params={**wanted, "limit": limit})

    def alerts(self, wanted: Mapping[str, Any], *, before: int | None, limit: int) -> dict[str, Any]:
        """Return `{alerts, counts, more, next}`: alerts, the newest first, below the id `before`."""
        page = {"limit": limit} if before is None else {"limit": limit, "before": before}
        return self._json("GET", "/api/v1/alerts", params={**wanted, **page})

    def alert(self, alert_id: int) -> dict[str, Any]:
        """Return one alert with its history. Raises NotFoundError."""
        return self._json("GET", f"/api/v1/alerts/{alert_id}")

    def notifiers(self, project: str) -> list[dict[str, Any]]:
        """Return who is told of a project's alerts. Raises AccessError."""
        return list(self._json("GET", _notifiers(project), project=project)["notifiers"])

    def notifier(self, project: str, name: str) -> dict[str, Any]:
        """Return one notifier with its newest messages. Raises NotFoundError."""
        path = f"{_notifiers(project)}/{_in_path(name, safe='')}"
        return self._json("GET", path, project=project)

    def change_notifier(
        self, project: str, path: str, wanted: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Post to an address below a project's notifiers, and return the answer; "" adds one."""
        address = f"{_notifiers(project)}/{_in_path(path)}".rstrip("/")
        return self._json("POST", address, project=project, json=wanted)

    def trend(self, series_id: int, **wanted: str | int) -> dict[str, Any]:
        """Return the history of a series in the order of its commits. Raises NotFoundError for a branch without one."""
        return self._json("GET", f"/api/v1/series/{series_id}/trend", params=wanted)

    def projects(self) -> list[dict[str, Any]]:
        """Return the projects that may be seen."""
        return list(self._json("GET", "/api/v1/projects")["projects"])

    def compare(self, **wanted: str) -> dict[str, Any]:
        """Return the stored numbers of two sides: `project`, `base`, `head`, and each side's device class."""
        return self._json("GET", "/api/v1/compare", params=wanted)

    def changes(self, project: str, **wanted: str | int) -> dict[str, Any]:
        """Return `{changes, more}`: the change points of a project, the newest first."""
        return self._json("GET", "/api/v1/changes", params={"project": project, **wanted})

    def runs(self, **wanted: str | int) -> dict[str, Any]:
        """Return a page of runs, the newest first: `{runs, next}`."""
        return self._json("GET", "/api/v1/runs", params=wanted)

    def weekly(self, wanted: Mapping[str, str]) -> dict[str, Any]:
        """Return the weekly report of a `project` and `week`; of all projects, and the last week, where left out."""
        return self._json("GET", "/api/v1/weekly", params=dict(wanted), timeout=_REPORT_TIMEOUT_S)

    def weekly_report(self, wanted: Mapping[str, str]) -> str:
        """Return the same as HTML, in the `form` of a page or of a letter."""
        return self._send("GET", "/api/v1/weekly/report", params=dict(wanted), timeout=_REPORT_TIMEOUT_S).text

    def run(self, name: str) -> dict[str, Any]:
        """Return a run."""
        return self._json("GET", f"/api/v1/runs/{_in_path(name, safe='')}")

    def run_results(self, name: str, **wanted: str | int) -> dict[str, Any]:
        """Return a page of what a run has brought, with every value: `{results, next}`."""
        return self._json("GET", f"/api/v1/runs/{_in_path(name, safe='')}/results", params=wanted)

    def post_batch(self, lines: Sequence[bytes]) -> dict[str, Any]:
        """Post documents of results, one a line, and return what became of each; sent again until there is an answer.

        That is safe: nothing is stored twice.
        """
        packed = gzip.compress(b"\n".join(lines), 1)
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"}
        return self._json(
            "POST", "/api/v1/results/batch", content=packed, headers=headers, timeout=600, repeatable=True
        )

    @contextmanager
    def export(self, wanted: Mapping[str, str]) -> Iterator[Iterator[bytes]]:
        """Yield the lines of an export as they come, each with its newline, the one that ends it too."""
        timeout = httpx.Timeout(_EXPORT_TIMEOUT_S, connect=5)
        with (
            self._told(),
            self._http.stream("GET", "/api/v1/export", params=dict(wanted), timeout=timeout) as response,
        ):
            if response.is_error:
                response.read()
                raise self._with_near_project(_error(response), wanted.get("project"))
            yield _lines(response.iter_bytes())

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Have what goes wrong between here and the service told by our errors."""
        try:
            yield
        except httpx.TransportError as error:
            raise UnavailableError(f"the service at {self.url} does not answer: {error}") from None
        except (UnicodeEncodeError, httpx.InvalidURL) as error:
            raise _unsendable(error) from None

    def upload_bundle(self, path: Path) -> str:
        """Upload a git bundle and return its digest."""
        with path.open("rb") as file:
            return str(self._json("POST", "/api/v1/bundles", content=file, timeout=600)["digest"])

    def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        document = self._send(method, path, **options).json()
        assert isinstance(document, dict)
        return document

    def _send(
        self, method: str, path: str, *, project: str | None = None, repeatable: bool = False, **options: Any
    ) -> httpx.Response:
        """Send one request. What may be repeated, as what only reads, is while the service is away: it may restart.

        `project` is the one that it is about, where its parameters do not name it.
        """
        give_up_at = time.monotonic() + (self._patience_s if repeatable or method == "GET" else 0)
        while True:
            try:
                with self._told():
                    response = self._http.request(method, path, **options)
            except UnavailableError as error:
                failure: RatchetError = error
            else:
                if not response.is_error:
                    return response
                failure = _error(response)
                if response.status_code not in _PASSING:
                    named = project or (options.get("params") or {}).get("project")
                    raise self._with_near_project(failure, named)
            if time.monotonic() > give_up_at:
                raise failure
            time.sleep(_PAUSE_S)

    def _with_near_project(self, failure: RatchetError, wanted: str | None) -> RatchetError:
        """Return what the service said; where it does not have the project, with the one that was probably meant."""
        if wanted is None or not isinstance(failure, NotFoundError):
            return failure
        # Settings take an import, which who is answered needs not.
        from app.settings.wording import nearest

        with suppress(RatchetError):
            names = [one["project"] for one in self.projects()]
            near = None if wanted in names else nearest(wanted, names)
            return NotFoundError(f"{failure}; did you mean {near!r}?", code=failure.code) if near else failure
        return failure


def checked_token(token: str | None) -> str | None:
    """Return a token without blanks around it, None without one. Raises UsageError, which does not show it."""
    its = (token or "").strip()
    if not _TOKEN.fullmatch(its):
        raise UsageError(
            "RATCHET_TOKEN holds no token: right is one line of ASCII without blanks, as `ratchet token` printed it"
        )
    return its or None


def _unsendable(error: Exception) -> UsageError:
    return UsageError(f"this is no question that can be sent: {error}")


def _in_path(text: str, *, safe: str = "/") -> str:
    """Return a text as it stands in an address. Raises UsageError for one that cannot."""
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError as error:
        raise _unsendable(error) from None


def _measure(project: str) -> str:
    return f"/api/v1/projects/{_in_path(project)}/measure"


def _notifiers(project: str) -> str:
    return f"/api/v1/projects/{_in_path(project)}/notifiers"


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if left:
        yield left


def _error(response: httpx.Response) -> RatchetError:
    try:
        document = response.json()
        message, code = str(document["message"]), str(document["code"])
    except (ValueError, KeyError, TypeError):
        message, code = response.text[:500] or response.reason_phrase, "http_error"
    if response.status_code == HTTPStatus.NOT_FOUND and (code == "http_error" or message == NO_SUCH_ROUTE):
        request = response.request
        return UsageError(f"{request.url} is no address of a Ratchet service: does RATCHET_URL name one?")
    kind = _ERRORS.get(response.status_code, UnavailableError)
    return kind(message, code=code)
