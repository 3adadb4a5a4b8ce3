"""How the service is known to GitHub: as an app with installations, or by a plain token; and what a call may raise.

Credentials are read from files and stay in this process. githubkit makes and renews an installation's tokens.
"""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from app.domain.errors import UnavailableError
from app.integrations.forge import ForgeBusyError, ForgeRefusedError
from app.integrations.github.metering import Meter

if TYPE_CHECKING:
    from githubkit import GitHub as Kit

CALL_S = 20.0
"""How long one call may take [s]."""

UNKNOWN_WAIT_S = 60.0
"""How long to wait where GitHub limits without saying until when [s]."""

MOST_SAID = 300
REDIRECTS = (301, 302, 307, 308)
LIMITED = ("rate limit", "abuse")
"""Words of a refusal that is one of time alone."""


@dataclass(frozen=True)
class Credentials:
    """An app's id and private key (PEM), or a token; exactly one of the two."""

    app_id: str = ""
    private_key: str = ""
    token: str = ""

    @property
    def is_app(self) -> bool:
        """Whether check runs can be written: only apps may."""
        return bool(self.app_id)

    @classmethod
    def read(cls, app_id: str, key_file: str, token_file: str) -> Credentials:
        """Read them from their files. Raises UnavailableError, naming the file and never what is in it."""
        if app_id:
            private_key = _text_of(key_file, "RATCHET_GITHUB_KEY_FILE")
            if not _is_key(private_key):
                raise UnavailableError(f"RATCHET_GITHUB_KEY_FILE: {key_file} holds no private key (PEM)")
            return cls(app_id=app_id, private_key=private_key)
        return cls(token=_text_of(token_file, "RATCHET_GITHUB_TOKEN_FILE").strip())


def _text_of(file: str, name: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(f"{name}: {file or 'not set'} cannot be read: {error}") from None


def _is_key(text: str) -> bool:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):  # no key at all; one behind a password
        return False
    return True


class Connection:
    """Calls to one GitHub as one identity."""

    def __init__(self, api: str, credentials: Credentials) -> None:
        self.credentials = credentials
        self._api = api
        self._kits: dict[int | None, Kit[Any]] = {}
        self._cache: Any = None
        self.meter = Meter()

    def kit(self, installation: int | None) -> Kit[Any]:
        """Return the client that speaks for an installation; for the token, or the app itself, where there is none."""
        if installation not in self._kits:
            self._kits[installation] = self._make(installation)
        return self._kits[installation]

    def _make(self, installation: int | None) -> Kit[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of its own dependencies, as they are imported
            from githubkit import (
                AppAuthStrategy,
                AppInstallationAuthStrategy,
                TokenAuthStrategy,
                UnauthAuthStrategy,
            )
            from githubkit import GitHub as Kit
            from githubkit.cache import MemCacheStrategy

        known = self.credentials
        auth: Any
        if not known.is_app:
            auth = TokenAuthStrategy(known.token) if known.token else UnauthAuthStrategy()
        elif installation is None:
            auth = AppAuthStrategy(known.app_id, known.private_key)
        else:
            auth = AppInstallationAuthStrategy(known.app_id, known.private_key, installation)
        whose = "app" if known.is_app and installation is None else str(installation or "token")
        # Of its own: the kit's is shared by all of a process, and knows an app's tokens by its id alone.
        cache = self._cache = self._cache or MemCacheStrategy()
        return Kit(
            auth,
            base_url=self._api,
            timeout=CALL_S,
            ssl_verify=trusted(),
            auto_retry=False,
            http_cache=False,  # `remembered` asks conditionally where that pays
            follow_redirects=False,
            event_hooks={
                "request": [self.meter.asked],
                "response": [partial(self.meter.answered, whose), _refuse_redirect],
            },
            cache_strategy=cache,
        )

    def git_token(self, installation: int | None, repository: str) -> str:
        """Return a token that may read one repository's commits, for an hour at most."""
        if not self.credentials.is_app or installation is None:
            return self.credentials.token
        wanted: Any = {"repositories": [repository], "permissions": {"contents": "read"}}
        with told():
            answer = self.kit(None).rest.apps.create_installation_access_token(installation, data=wanted)
        return str(answer.json()["token"])


@cache
def trusted() -> ssl.SSLContext:
    """Return what certificates are held against, read once: the kit makes a connection for each call."""
    import httpx

    return httpx.create_ssl_context()


@contextmanager
def told() -> Iterator[None]:
    """Turn what githubkit raises into our errors, with what GitHub said."""
    from githubkit.exception import GitHubException

    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ForgeRefusedError(f"GitHub would not take it: {where}: {first['msg']}"[:MOST_SAID]) from None
    except GitHubException as error:
        raise _ours(error) from None


def _refuse_redirect(response: Any) -> None:
    """Raise where GitHub sends us elsewhere: a write that follows may turn into a read, and the new place is kept."""
    if response.status_code in REDIRECTS:
        raise ForgeRefusedError(
            f"{response.request.method} {response.request.url.path}: {response.status_code} it has moved",
            status=response.status_code,
        )


def _ours(error: Any) -> UnavailableError:
    """Return our error for one of githubkit's; what went wrong with an installation's token is within another."""
    from githubkit.exception import GitHubException, RateLimitExceeded, RequestFailed

    cause = getattr(error, "exc", None)
    if isinstance(cause, GitHubException):
        return _ours(cause)
    if isinstance(cause, UnavailableError):
        return cause
    if isinstance(error, RateLimitExceeded):
        wait_s = error.retry_after.total_seconds() or UNKNOWN_WAIT_S
        return ForgeBusyError(_said(error), wait_s=max(wait_s, 1.0))
    if not isinstance(error, RequestFailed):
        return UnavailableError(f"GitHub cannot be reached: {cause or error!r}"[:MOST_SAID])
    status, said = error.response.status_code, _said(error)
    if status == 429 or (status == 403 and any(word in said.lower() for word in LIMITED)):
        return ForgeBusyError(said, wait_s=UNKNOWN_WAIT_S)
    if status >= 500 or status in (401, 408):
        return UnavailableError(said)
    return ForgeRefusedError(said, status=status)


def _said(error: Any) -> str:
    """Return GitHub's own words, with the call and its status."""
    try:
        message = error.response.json().get("message", "")
    except Exception:  # whatever a broken answer makes of its parsing
        message = ""
    request = error.request
    return f"{request.method} {request.url.path}: {error.response.status_code} {message}".strip()[:MOST_SAID]
