"""Who somebody is on GitHub, as GitHub says it of the browser that they sent there.

The web flow of OAuth (RFC 6749) with PKCE by SHA-256 (RFC 7636). The token that GitHub gives for a code is asked with
at once and forgotten: it is in no attribute, error or log.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from app.config import ServiceSettings
from app.domain.errors import AccessError, DataError, UnavailableError
from app.integrations.github.asking import ask, not_understood, printed, told_in, within_deadline

CALLBACK = "/sign-in/github/callback"
"""Where on this service GitHub sends browsers back to; an app there has it among its callback addresses."""

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class NotSetUpError(UnavailableError):
    """People cannot sign in with GitHub until whoever administers the service has set it up rightly."""


@dataclass(frozen=True)
class Account:
    """An account on GitHub: its number, which stays, and what it is called just now."""

    id: int
    login: str


@dataclass(frozen=True)
class Identity:
    """Who a browser is on GitHub.

    `organizations` are those asked about that the account is an active member of; `unknown` says of which GitHub would
    not tell, and why, for whoever administers the service.
    """

    account: Account
    organizations: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class SignInApp:
    """What the service is to GitHub where people sign in: an OAuth app, or a GitHub App, and where it sends them back.

    Args:
        client_id: the app's.
        secret_file: file with its secret; read each time, as it may be changed.
        web: GitHub's address.
        api: its API's.
        back_to: our address that GitHub sends browsers to; `CALLBACK`.
        organizations: those whose members are asked for.
    """

    client_id: str
    secret_file: str
    web: str
    api: str
    back_to: str
    organizations: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: ServiceSettings) -> SignInApp:
        """Return the app of the settings."""
        return cls(
            settings.github_login_client_id,
            settings.github_login_secret_file,
            settings.github_url.rstrip("/"),
            settings.github_api,
            f"{settings.address}{CALLBACK}",
            settings.github_login_organizations,
        )

    def secret(self) -> str:
        """Return the client secret. Raises NotSetUpError, naming the file and never what is in it."""
        name = "RATCHET_GITHUB_LOGIN_SECRET_FILE"
        try:
            secret = Path(self.secret_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise NotSetUpError(f"{name}: {self.secret_file} cannot be read: {reason}") from None
        if not secret:
            raise NotSetUpError(f"{name}: {self.secret_file} is empty")
        return secret

    def page(self, state: str, verifier: str) -> str:
        """Return the address of GitHub's page that asks a person, and sends the browser back with this state."""
        asked = {
            "client_id": self.client_id,
            "redirect_uri": self.back_to,
            "state": state,
            "code_challenge": challenge(verifier),
            "code_challenge_method": "S256",
        }
        if self.organizations:
            asked["scope"] = "read:org"
        return f"{self.web}/login/oauth/authorize?{urlencode(asked)}"


def challenge(verifier: str) -> str:
    """Return what GitHub is told of a secret before it is shown the secret itself (RFC 7636, 4.2, S256)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def identify(app: SignInApp, code: str, verifier: str) -> Identity:
    """Return whom GitHub has sent back with this code.

    Raises:
        AccessError: the code is not, or no longer, good for this browser.
        ForgeBusyError: GitHub asks for time.
        NotSetUpError: GitHub does not take the service's own id, secret or address, or they cannot be read.
        UnavailableError: GitHub is away, slow or not to be understood, or too many ask at once.
    """
    return within_deadline(lambda http: _identify(http, app, app.secret(), code, verifier))


def find_account(api: str, login: str) -> Account:
    """Return the account of a person that is called so just now.

    Raises DataError where there is none, and what `identify` raises of GitHub.
    """
    if not LOGIN.fullmatch(login):
        raise DataError(f"{login[:80]!r} is no login of GitHub: letters, digits and dashes")
    return within_deadline(lambda http: _find(http, api, login))


async def _identify(
    http: httpx.AsyncClient, app: SignInApp, secret: str, code: str, verifier: str
) -> Identity:
    token = await _token(http, app, secret, code, verifier)
    account = _account(told_in(await ask(http, f"{app.api}/user", token)))
    active, unknown = [], []
    for organization in app.organizations:
        answer = await ask(http, f"{app.api}/user/memberships/orgs/{quote(organization, safe='')}", token)
        if answer.status in (403, 404) or 300 <= answer.status < 400:
            if answer.status != 404:
                unknown.append(f"{organization}: {answer.status} {answer.message}".strip())
        elif told_in(answer).get("state") == "active":
            active.append(organization)
    return Identity(account, tuple(active), tuple(unknown))


async def _token(http: httpx.AsyncClient, app: SignInApp, secret: str, code: str, verifier: str) -> str:
    form = {
        "client_id": app.client_id,
        "client_secret": secret,
        "code": code,
        "redirect_uri": app.back_to,
        "code_verifier": verifier,
    }
    told = told_in(await ask(http, f"{app.web}/login/oauth/access_token", form=form))
    why = str(told.get("error", ""))
    if why == "bad_verification_code":
        raise AccessError("what GitHub gave your browser has expired, or was used")
    if why:
        raise NotSetUpError(f"GitHub gives no token: {printed(why)}")
    token = told.get("access_token")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise not_understood("no token")
    return token


async def _find(http: httpx.AsyncClient, api: str, login: str) -> Account:
    answer = await ask(http, f"{api}/users/{login}")
    if answer.status == 404:
        raise DataError(f"GitHub knows no account {login!r}")
    told = told_in(answer)
    if told.get("type", "User") != "User":
        raise DataError(f"{login!r} is no person on GitHub, but of the type {printed(str(told['type']))}")
    return _account(told)


def _account(told: Mapping[str, Any]) -> Account:
    number, login = told.get("id"), told.get("login")
    if type(number) is not int or not 0 < number < 2**63:
        raise not_understood("no number of an account")
    if not isinstance(login, str) or not LOGIN.fullmatch(login):
        raise not_understood("no login of an account")
    return Account(number, login)
