"""One Prometheus server: asked within bounds, and let be while it is away.

prometheus-api-client speaks to it, through a session of ours (`session`). Samples are asked for with a range selector
in an instant query, which gives them as they were scraped, at their own moments: a range query would give values at
moments of ours, repeat each for up to five minutes after its scrape, so that no gap is seen, and give at most 11,000.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests import RequestException
from requests.auth import AuthBase, HTTPBasicAuth

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.integrations.dcgm.series import Row
from app.integrations.dcgm.session import RETRY, AwayError, Bearer, BoundedSession

REST_S = 60.0
"""How long a server that was away is not asked again [s]."""
LONGEST_S = 3600.0
"""How much time one query asks for [s]: 15 fields scraped every second are 2 MB an hour."""
CLOCKS_DIFFER_S = 2.0
"""More than this between the two ways in which a server tells its time: a cache or another server answers."""


@dataclass(frozen=True)
class Clock:
    """A server's clock: how far it is ahead of this machine's [s], known to within `within_s` [s]."""

    ahead_s: float
    within_s: float


class Prometheus:
    """The server at `url`.

    Args:
        url: with a path where it has one, and without a password.
        secret_file: file with a bearer token, or with the password of `user`; read for each look-up, as it may change.
        user: user of basic authentication.
        ca_file: certificates that it may be signed by, in place of the system's.
        timeout_s: how long one look-up may take in all [s].
        rest_s: how long it is not asked again after it was away [s].
    """

    def __init__(
        self,
        url: str,
        *,
        secret_file: str = "",
        user: str = "",
        ca_file: str = "",
        timeout_s: float = 10.0,
        rest_s: float = REST_S,
    ) -> None:
        self.url = url.rstrip("/")
        self._secret_file, self._user, self._ca_file = secret_file, user, ca_file
        self._timeout_s, self._rest_s = timeout_s, rest_s
        self._away_until, self._away = 0.0, ""

    @classmethod
    def of(cls, settings: ServiceSettings, *, within_s: float = math.inf) -> Prometheus | None:
        """Return the server of the settings, None where they name none; a look-up takes `within_s` at the most [s]."""
        if not settings.prometheus_url:
            return None
        return cls(
            settings.prometheus_url,
            secret_file=settings.prometheus_secret_file,
            user=settings.prometheus_user,
            ca_file=settings.prometheus_ca_file,
            timeout_s=min(settings.prometheus_timeout_s, within_s),
        )

    @contextmanager
    def look_up(self) -> Iterator[LookUp]:
        """Give a look-up, whose questions have `timeout_s` in all.

        Raises UnavailableError from here and from each question, with a sentence that names the server.
        """
        self._refuse_while_away()
        try:
            session = BoundedSession(self.url, self._timeout_s)
            session.auth = self._credentials()
            session.verify = self._ca_file or True
            with PrometheusConnect(self.url, retry=RETRY, session=session) as client:
                yield LookUp(client, session)
        except AwayError as error:
            self._away_until, self._away = time.monotonic() + self._rest_s, str(error)
            raise

    def _refuse_while_away(self) -> None:
        left = self._away_until - time.monotonic()
        if left > 0:
            raise UnavailableError(f"{self._away}; it is not asked again for {left:.0f} s")

    def _credentials(self) -> AuthBase:
        if not self._secret_file:
            return Bearer("")
        try:
            secret = Path(self._secret_file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise UnavailableError(
                f"{self._secret_file}, the secret for Prometheus, cannot be read: {error}"
            ) from error
        if self._user:
            return HTTPBasicAuth(self._user.encode(), secret.encode())
        if not (secret.isascii() and secret.isprintable()):
            raise UnavailableError(
                f"{self._secret_file}, the secret for Prometheus, holds what no token is made of"
            )
        return Bearer(secret)


class LookUp:
    """Questions to one server that belong together; `notes` are its own warnings about the answers."""

    def __init__(self, client: PrometheusConnect, session: BoundedSession) -> None:
        self._client = client
        self._session = session

    @property
    def notes(self) -> Sequence[str]:
        """What the server itself says of its answers, each once."""
        return list(dict.fromkeys(self._session.warnings))

    def clock(self) -> Clock | None:
        """Return how the server's clock differs from ours, None where what it says contradicts itself.

        A server's `time()` and the Date on its response are the same clock, unless another machine or a cache answers.
        """
        sent = time.time()
        told = self._number("time()")
        received = time.time()
        date = self._session.date
        if told is None or (date is not None and abs(told - date - 0.5) > CLOCKS_DIFFER_S):
            return None
        return Clock(told - (sent + received) / 2, (received - sent) / 2)

    def _number(self, query: str) -> float | None:
        """Return a scalar, which VictoriaMetrics answers as a vector; None where the answer is neither."""
        result = self._ask(query, {})
        try:
            number = float(result[0]["value"][1] if isinstance(result[0], dict) else result[1])
        except (LookupError, TypeError, ValueError):
            return None
        return number if math.isfinite(number) else None

    def samples(self, selector: str, start: float, end: float) -> list[Row]:
        """Return the series that match, with all their samples from `start` to `end` [s since 1970].

        A series comes in several rows where the time is longer than one query may ask for.
        """
        return [row for part in _parts(start, end) for row in self._rows(selector, *part)]

    def devices(self, names: str, start: float, end: float) -> list[Row]:
        """Return one row for each device or part of one that has such a field between the moments, without samples."""
        by = "UUID, uuid, gpu_uuid, GPU_I_ID"
        window = f"{round(1000 * (end - start))}ms"
        query = f'count by ({by}) (last_over_time({{__name__=~"{names}"}}[{window}]))'
        return _as_rows(self._ask(query, {"time": f"{end:.3f}"}))

    def steps(self, query: str, first: float, last: float, step_s: float) -> list[Row]:
        """Return what an expression is from `first` to `last` [s since 1970], every `step_s` seconds.

        The server gives up on it when nobody here waits any more.
        """
        from_to = datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last, UTC)
        params = {"timeout": f"{self._session.left_s():.3f}", "nocache": "1"}
        with self._asking():
            return _as_rows(self._client.custom_query_range(query, *from_to, f"{step_s:g}", params=params))

    def _rows(self, selector: str, start: float, end: float) -> list[Row]:
        query = f"{selector}[{round(1000 * (end - start))}ms]"
        return _as_rows(self._ask(query, {"time": f"{end:.3f}"}))

    def _ask(self, query: str, params: dict[str, str]) -> Any:
        """Ask; VictoriaMetrics would answer for half a minute ago unless told not to."""
        with self._asking():
            return self._client.custom_query(query, params={**params, "nocache": "1"})

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except (RequestException, PrometheusApiClientException) as error:
            raise AwayError(f"{self._client.url} cannot be asked: {error}") from error


def _as_rows(result: object) -> list[Row]:
    if not isinstance(result, list):
        raise UnavailableError("Prometheus answers in a form that is not its own: no list of series")
    return result


def _parts(start: float, end: float) -> Iterator[tuple[float, float]]:
    while end - start > LONGEST_S:
        yield start, start + LONGEST_S
        start += LONGEST_S
    yield start, end
