"""An HTTP session in which everything ends in time, and in which what comes back is an answer of Prometheus.

Left to itself prometheus-api-client retries for seconds, waits for ever on a server that accepts and says nothing,
and takes a sign-in page for an answer. So it is given this session, which ends at a moment and looks at each response
first.
"""

from __future__ import annotations

import io
import json
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from requests import PreparedRequest, Response, Session
from requests import exceptions as failures
from requests.auth import AuthBase
from urllib3 import Retry
from urllib3.exceptions import HTTPError, ReadTimeoutError

from app.domain.errors import UnavailableError

CONNECT_S = 2.0
"""How long it may take to be connected, at each of two attempts [s]."""
LARGEST_B = 64 * 2**20
"""The longest answer that is read [B]."""
LONGEST_SAID = 300
"""How much of what the server says itself is passed on."""
RETRY = Retry(total=1, connect=1, read=False, redirect=0, status=0, other=0, respect_retry_after_header=False)
"""A second attempt to connect, and no other: a Retry-After would be slept through."""


class AwayError(UnavailableError):
    """The server does not answer, or something else answers in its place: not worth asking for a while."""


class Bearer(AuthBase):
    """Puts a token on requests; even without one it keeps the password of a ~/.netrc off them."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Return the request with the token."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class BoundedSession(Session):
    """A session in which everything ends in time, and in which what comes back is an answer of Prometheus.

    Raises AwayError where nothing or something else answers, UnavailableError where the server refuses the question.
    """

    def __init__(self, server: str, timeout_s: float) -> None:
        super().__init__()
        self.date: float | None = None
        """The server's time on its last response [s since 1970], a whole second."""
        self.warnings: list[str] = []
        self._server = server
        self._timeout_s = timeout_s
        self._ends = time.monotonic() + timeout_s

    def send(self, request: PreparedRequest, **kwargs: Any) -> Response:
        """Send a request, read all of the response, and look whether it is one of Prometheus."""
        left = self.left_s()
        kwargs |= {"timeout": (min(CONNECT_S, left), left), "stream": True, "allow_redirects": False}
        try:
            response = super().send(request, **kwargs)
            with response:
                body = self._body(response)
        except failures.SSLError as error:
            raise AwayError(
                f"{self._server} shows a certificate that is not trusted: {_root(error)}; "
                "RATCHET_PROMETHEUS_CA_FILE names others"
            ) from error
        except failures.ConnectTimeout as error:
            raise AwayError(f"{self._server} cannot be reached: no connection in {CONNECT_S:g} s") from error
        except (failures.Timeout, ReadTimeoutError) as error:
            raise AwayError(f"{self._server} does not answer within {self._timeout_s:g} s") from error
        except (failures.RequestException, HTTPError, OSError) as error:
            raise AwayError(f"{self._server} cannot be reached: {_root(error)}") from error
        response.raw = io.BytesIO(body)
        self.date = _date(response)
        self._look_at(response, body)
        return response

    def left_s(self) -> float:
        """How long it may go on [s]. Raises AwayError where its time is over."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise AwayError(f"{self._server} takes longer than {self._timeout_s:g} s")
        return left

    def _body(self, response: Response) -> bytes:
        body = bytearray()
        while part := response.raw.read1(2**16, decode_content=True):
            body += part
            self.left_s()
            if len(body) > LARGEST_B:
                raise UnavailableError(f"{self._server} answers with more than {LARGEST_B >> 20} MiB")
        return bytes(body)

    def _look_at(self, response: Response, body: bytes) -> None:
        document = _document(body)
        status = response.status_code
        if status >= HTTPStatus.BAD_REQUEST:
            raise self._error(status, str(document.get("error", ""))[:LONGEST_SAID] or response.reason)
        if status >= HTTPStatus.MULTIPLE_CHOICES:
            where = response.headers.get("Location", "nowhere").partition("?")[0]
            raise AwayError(f"{self._server} sends us elsewhere, to {where}")
        data = document.get("data")
        if status != HTTPStatus.OK or not (isinstance(data, dict) and "result" in data):
            kind = response.headers.get("Content-Type", "no type")
            raise AwayError(f"{self._server} answers {status} with {kind}, and not as Prometheus does")
        self.warnings += [str(warning) for warning in document.get("warnings") or ()]

    def _error(self, status: int, said: str) -> UnavailableError:
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return UnavailableError(
                f"{self._server} refuses our credentials ({status} {said}): RATCHET_PROMETHEUS_SECRET_FILE holds them"
            )
        if status == HTTPStatus.NOT_FOUND:
            return AwayError(f"{self._server} is no address of a Prometheus: it answers 404")
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return AwayError(f"{self._server} answers {status}: {said}")
        return UnavailableError(f"{self._server} refuses the question ({status}): {said}")


def _document(body: bytes) -> dict[str, Any]:
    """Return a JSON object, an empty one for everything else."""
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _date(response: Response) -> float | None:
    try:
        return parsedate_to_datetime(response.headers.get("Date", "")).timestamp()
    except ValueError:
        return None


def _root(error: BaseException) -> str:
    """Return what is at the bottom of an error, without the address of the request."""
    while below := [
        one for one in (*error.args, error.__cause__, error.__context__) if isinstance(one, BaseException)
    ]:
        error = below[0]
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
