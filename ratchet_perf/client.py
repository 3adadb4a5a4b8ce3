"""`Ratchet`: one service, and what can be asked of it."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from operator import index
from types import TracebackType
from typing import Any

import httpx

from ratchet_perf import reading
from ratchet_perf.errors import NotFoundError, UsageError, shown
from ratchet_perf.frames import Records
from ratchet_perf.records import (
    Alert,
    Change,
    Comparison,
    FoundSeries,
    Posted,
    Project,
    Result,
    Run,
    RunDetail,
    Sample,
    Series,
    Trend,
)
from ratchet_perf.transport import Transport, checked_address, checked_token, document

_ALL_COLUMNS = 10_000
"""Of pixels that the service is told a trend is for where all of it is wanted: six times as many points come whole."""

_RUNS_A_PAGE, _SAMPLES_A_PAGE = 500, 1_000
_AGENT = "ratchet_perf/0.1.0"

_RUN = re.compile(r"[\w-]+", re.ASCII)
"""What can stand in an address as a run's name; whether there is one of it, the service says."""


class Ratchet:
    """A service that numbers are asked of; use it as a context manager, or close it.

    Args:
        url: its address; else that of RATCHET_URL.
        token: a token with the scope `results:read`, and `results:write` to post; else that of RATCHET_TOKEN. A service
            that is open to readers needs none.
        timeout_s: how long one answer may take [s].
        patience_s: how long a request is tried again while the service is away or asks to wait (429, 503 with
            `Retry-After`) [s]; 0: never.
        transport: how requests are sent, for tests and proxies of one's own.

    Every method raises RatchetError, with the service's own sentence, where it cannot answer.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = 30.0,
        patience_s: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        address = checked_address(url or os.environ.get("RATCHET_URL"))
        its_token = checked_token(token or os.environ.get("RATCHET_TOKEN"))
        headers = {"User-Agent": _AGENT} | ({"Authorization": f"Bearer {its_token}"} if its_token else {})
        timeout = httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0))
        http = httpx.Client(base_url=address, headers=headers, timeout=timeout, transport=transport)
        self.url = address
        self._transport = Transport(http, patience_s)

    def __enter__(self) -> Ratchet:
        """Return the service."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.http.close()

    def projects(self) -> Records[Project]:
        """Return the projects that the token may see, by name."""
        return Records(map(reading.project, self._get("projects")["projects"]))

    def series(
        self,
        words: str = "",
        *,
        project: str | None = None,
        benchmark: str | None = None,
        metric: str | None = None,
        device_class: str | None = None,
        limit: int = 1_000,
    ) -> Records[FoundSeries]:
        """Return the series that have all of the words somewhere in their names, by name.

        Args:
            words: looked for in project, benchmark, parameters, metric and device class.
            project: only series of this one.
            benchmark: only series of this one.
            metric: only series of this one.
            device_class: only series of this one.
            limit: the most series, up to 10 000; `more` of the answer says that there are others.
        """
        told = self._get(
            "series",
            q=words,
            project=project,
            benchmark=benchmark,
            metric=metric,
            device_class=device_class,
            limit=limit,
        )
        return Records(map(reading.found_series, told["series"]), more=told["more"])

    def trend(
        self,
        series: Series | int,
        *,
        branch: str | None = None,
        first: int = 0,
        last: int | None = None,
        columns: int = 1_000,
    ) -> Trend:
        """Return a series' history in the order of its commits, thinned to what a picture shows.

        Args:
            series: the series, or its id.
            branch: whose history (default: the project's).
            first: the first row wanted; 0 is the oldest point.
            last: the last row wanted (default: the newest).
            columns: how wide the picture is, up to 10 000: of more than six points a column the service keeps those
                that make the curve what it is.
        """
        its_id = _id(Series, series)
        told = self._get(f"series/{its_id}/trend", branch=branch, first=first, last=last, columns=columns)
        return reading.trend(told)

    def history(
        self,
        words: str = "",
        *,
        project: str | None = None,
        benchmark: str | None = None,
        metric: str | None = None,
        device_class: str | None = None,
        branch: str | None = None,
        limit: int = 50,
    ) -> Iterator[Trend]:
        """Yield the whole history of each series that has all of the words; one without any on the branch is left out.

        Args:
            words: as of `series`.
            project: only series of this one.
            benchmark: only series of this one.
            metric: only series of this one.
            device_class: only series of this one.
            branch: whose history (default: each project's).
            limit: the most series.
        """
        facets = {"project": project, "benchmark": benchmark, "metric": metric, "device_class": device_class}
        for one in self.series(words, limit=limit, **facets):
            try:
                yield self.trend(one, branch=branch, columns=_ALL_COLUMNS)
            except NotFoundError:
                continue

    def compare(
        self,
        base: str,
        head: str,
        *,
        project: str,
        base_device_class: str | None = None,
        head_device_class: str | None = None,
    ) -> Comparison:
        """Return the newest stored numbers of two sides.

        Args:
            base: a commit by its first 7 digits or more, a branch, or a device class.
            head: the same.
            project: the project.
            base_device_class: only base's numbers of this device class.
            head_device_class: only head's; with both, one device class is held against the other.
        """
        told = self._get(
            "compare",
            project=project,
            base=base,
            head=head,
            base_device_class=base_device_class,
            head_device_class=head_device_class,
        )
        return reading.comparison(told)

    def runs(
        self,
        *,
        project: str | None = None,
        benchmark: str | None = None,
        commit: str | None = None,
        device_class: str | None = None,
        since: datetime | str | None = None,
        limit: int = 50,
    ) -> Records[Run]:
        """Return the newest runs, measured and posted.

        Args:
            project: only runs of this one.
            benchmark: only runs of this one.
            commit: only runs of this commit, by its first 7 digits or more.
            device_class: only runs on this one.
            since: only runs since then.
            limit: the most runs; `more` of the answer says that there are others.
        """
        found: list[Run] = []
        place, most = None, _most(limit)
        while len(found) < most:
            told = self._get(
                "runs",
                project=project,
                benchmark=benchmark,
                commit=commit,
                device_class=device_class,
                since=_moment(since),
                before=place,
                limit=min(most - len(found), _RUNS_A_PAGE),
            )
            found += map(reading.run, told["runs"])
            place = told["next"]
            if place is None:
                break
        return Records(found, more=place is not None)

    def run(self, name: str | int | Run, *, benchmark: str | None = None) -> RunDetail:
        """Return a run with its samples: every value of every result.

        Args:
            name: `"12"`, or its number, for a measured one, `"upload-3"` for a posted one, as answers name them.
            benchmark: only samples of this one.
        """
        path = f"runs/{_run_name(name)}"
        told, samples, after = self._get(path), list[Sample](), None
        while True:
            page = self._get(f"{path}/results", benchmark=benchmark, after=after, limit=_SAMPLES_A_PAGE)
            samples += map(reading.sample, page["results"])
            after = page["next"]
            if after is None:
                return reading.run_detail(told, Records(samples))

    def changes(
        self,
        project: str,
        *,
        since: datetime | str | None = None,
        states: Iterable[str] = (),
        limit: int = 1_000,
    ) -> Records[Change]:
        """Return where the project's series changed, the newest first.

        Args:
            project: the project.
            since: only what was first seen, or moved to another state, since then.
            states: `suspected`, `confirmed`, `withdrawn`, `episode`, `corrected`, or `all` (default: those that stand,
                suspected and confirmed).
            limit: the most changes, up to 10 000; `more` of the answer says that there are others.
        """
        told = self._get("changes", project=project, since=_moment(since), state=_names(states), limit=limit)
        return Records(map(reading.change, told["changes"]), more=told["more"])

    def alerts(
        self,
        project: str | None = None,
        *,
        states: Iterable[str] = ("open",),
        owner: str | None = None,
        limit: int = 50,
    ) -> Records[Alert]:
        """Return what became worse and waits for somebody, one entry for each cause, the newest first.

        Args:
            project: only alerts of this project.
            states: `open`, `closed`, `all`, or states by name: `new`, `acknowledged`, `investigating`, `fixed`,
                `accepted`, `not_ours`, `noise`.
            owner: only this person's; "" means nobody's.
            limit: the most alerts, up to 200; `more` of the answer says that there are others.
        """
        told = self._get("alerts", project=project, state=_names(states), owner=owner, limit=limit)
        return Records(map(reading.alert, told["alerts"]), more=told["more"])

    def alert(self, alert_id: int) -> Alert:
        """Return one alert with all of its changes. Raises NotFoundError."""
        return reading.alert(self._get(f"alerts/{_id(Alert, alert_id)}"))

    def post_results(
        self,
        project: str,
        commit: str,
        device_class: str,
        results: Iterable[Result],
        *,
        branch: str | None = None,
        parent: str | None = None,
        time: datetime | str | None = None,
        measured_at: datetime | str | None = None,
        author: str | None = None,
        subject: str | None = None,
        position: int | None = None,
        environment: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Posted:
        """Post what was measured at a commit; the same post again stores nothing twice.

        Args:
            project: where to; it is made if it is new and the token is bound to none.
            commit: the full id.
            device_class: what it was measured on.
            results: what was measured.
            branch: whose history it belongs to (default: the project's).
            parent: the full id of the commit before it.
            time: when the commit was made.
            measured_at: when it was measured, for what is posted later than that.
            author: the commit's.
            subject: the commit's.
            position: the commit's number on its branch, counted from 0.
            environment: whatever could explain a change that is not the code's.
            key: names this post; without one its content does.

        Raises RefusedError with `problems` where the service does not take it.
        """
        told = {
            "project": project,
            "commit": commit,
            "device_class": device_class,
            "branch": branch,
            "parent": parent,
            "time": _moment(time),
            "measured_at": _moment(measured_at),
            "author": author,
            "subject": subject,
            "position": position,
            "environment": environment,
            "results": _results(results),
        }
        headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": _key(key)} if key else {})
        body = _json(_without_none(told))
        response = self._transport.send("POST", "/api/v1/results", content=body, headers=headers)
        return reading.posted(document(response), is_new=response.status_code == 201)

    def _get(self, path: str, **params: Any) -> dict[str, Any]:
        return self._transport.get(f"/api/v1/{path}", _without_none(params))


def _id(kind: type[Series | Alert], given: Any) -> int:
    """Return the id of a record, or what is one, also as numpy counts. Raises UsageError where it is neither."""
    try:
        return int(index(given.id if isinstance(given, kind) else given))
    except TypeError:
        what = f"{shown(given)} is no {kind.__name__.lower()}: right is one of an answer, or its id as an int"
        raise UsageError(what) from None


def _run_name(run: Any) -> str:
    """Return the name of a run. Raises UsageError where it is none."""
    its: Any = run.run if isinstance(run, Run | RunDetail) else run
    if isinstance(its, str) and _RUN.fullmatch(its):
        return its
    try:
        return str(index(its))
    except TypeError:
        what = f"{shown(its)} is no run: right is 12 for a measured one, 'upload-3' for a posted one"
        raise UsageError(what) from None


def _most(limit: Any) -> int:
    """Return a limit. Raises UsageError where it is no number."""
    try:
        return index(limit)
    except TypeError:
        raise UsageError(f"limit={shown(limit)} limits nothing: right is a number such as 50") from None


def _names(given: Iterable[str]) -> list[str]:
    """Return names as a list; a text is one name, and not its letters."""
    return [given] if isinstance(given, str) else list(given)


def _moment(time: datetime | str | None) -> str | None:
    """Return a time as the service takes it; one without a zone is UTC."""
    if not isinstance(time, datetime):
        return time
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


def _key(key: Any) -> str:
    """Return the key of a post. Raises UsageError where no header can have it."""
    if isinstance(key, str) and key.isascii() and key.isprintable():
        return key
    raise UsageError(f"{shown(key)} is no key of a post: right are up to 255 printable ASCII characters")


def _results(results: Any) -> list[dict[str, Any]]:
    """Return what is posted as plain values. Raises UsageError where something of it is no Result."""
    return [_result(one) for one in (results if isinstance(results, Iterable) else [results])]


def _result(one: Any) -> dict[str, Any]:
    if not isinstance(one, Result):
        raise UsageError(f"{shown(one)} cannot be posted: right is a list of Result(...)")
    told = _without_none({field.name: getattr(one, field.name) for field in dataclasses.fields(one)})
    return told | {"params": _params(one), "values": _values(one)}


def _params(one: Result) -> dict[str, Any]:
    if isinstance(one.params, Mapping):
        return dict(one.params)
    raise UsageError(
        f"params of {one.benchmark!r} are {shown(one.params)}: right is a dict such as {{'batch': 32}}"
    )


def _values(one: Result) -> list[int | float]:
    try:
        if not isinstance(one.values, str | bytes):
            return [value if type(value) is int else float(value) for value in one.values]
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError(
        f"values of {one.benchmark!r} are {shown(one.values)}: right is a list of numbers, [1.9, 2.0]"
    )


def _json(told: Mapping[str, Any]) -> bytes:
    """Return a document as JSON. Raises UsageError where it cannot be written so."""
    try:
        return json.dumps(told, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"what is posted cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    """Return what JSON does not know as what it knows: a single number of numpy's, a mapping of any kind."""
    if isinstance(value, Mapping):
        return dict(value)
    if getattr(value, "shape", None) == ():
        return value.item()
    raise UsageError(f"{shown(value)} cannot be posted: right are texts, numbers, True, False and None")


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
