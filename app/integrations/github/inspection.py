"""What keeps Ratchet and GitHub from working together: permissions, events, secret, the way from there to here."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from app.config import ServiceSettings
from app.domain.errors import AccessError, RatchetError, UnavailableError
from app.domain.forge import Place
from app.integrations.github.connection import Connection, Credentials, told
from app.integrations.github.identity import NotSetUpError, SignInApp, identify
from app.integrations.github.signature import secrets_of

PERMISSIONS = {
    "checks": "write",
    "contents": "read",
    "issues": "read",
    "merge_queues": "read",
    "metadata": "read",
    "pull_requests": "write",
}
"""What the app has to be allowed: check runs, commits, to hear of comments, who may push, comments of its own.

To be told of a merge queue's groups it has to be allowed to read those.
"""

EVENTS = ("issue_comment", "merge_group", "pull_request", "push")
"""What the app has to be told of; of its own checks GitHub tells an app by itself."""

RANKS = ("", "read", "write", "admin")
RECENT = 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `advice` says how to mend it where it is not `is_good`."""

    what: str
    is_good: bool
    says: str
    advice: str = ""


def inspect(settings: ServiceSettings, repository: str | None) -> Iterator[Finding]:
    """Look at everything that can be looked at, in the order in which it is needed; yield each finding.

    Args:
        settings: the service's.
        repository: `owner/name` that a token should reach; not needed for an app.
    """
    yield from _connected(settings, repository)
    if settings.has_github_login:
        yield _sign_in(settings)


def _connected(settings: ServiceSettings, repository: str | None) -> Iterator[Finding]:
    if not settings.has_github:
        yield Finding("Identity", False, "Ratchet is known to no GitHub", _connect())
        return
    try:
        known = settings
        credentials = Credentials.read(known.github_app_id, known.github_key_file, known.github_token_file)
    except UnavailableError as error:
        yield Finding(
            "Identity", False, str(error), "name the file as GitHub made it, readable for this user"
        )
        return
    connection = Connection(settings.github_api, credentials)
    yield from _of_app(connection, settings) if credentials.is_app else _of_token(connection, repository)
    yield _secret(settings)
    yield _address(settings)


def _connect() -> str:
    return (
        "`ratchet github connect` has GitHub make an app, or set RATCHET_GITHUB_TOKEN_FILE (docs/github.md)"
    )


def _of_app(connection: Connection, settings: ServiceSettings) -> Iterator[Finding]:
    rest = connection.kit(None).rest.apps
    app, error = _asked(rest.get_authenticated)
    if app is None:
        advice = "are RATCHET_GITHUB_APP_ID and RATCHET_GITHUB_KEY_FILE of the same app?"
        yield Finding("App", False, error, advice)
        return
    yield Finding("App", True, f"{app.get('name')} at {settings.github_url}")
    yield _permissions(app)
    yield _events(app)
    yield _installations(rest, app)
    yield from _webhook(rest, settings)


def _permissions(app: dict[str, Any]) -> Finding:
    given = app.get("permissions") or {}
    lack = [
        f"{name}: {wanted}" for name, wanted in PERMISSIONS.items() if _rank(given.get(name)) < _rank(wanted)
    ]
    if not lack:
        return Finding("Permissions", True, "all that are needed")
    advice = f"add them at {_page(app)}/permissions, then accept them where the app is installed"
    return Finding("Permissions", False, f"missing: {', '.join(lack)}", advice)


def _rank(level: Any) -> int:
    return RANKS.index(level) if level in RANKS else 0


def _events(app: dict[str, Any]) -> Finding:
    lack = sorted(set(EVENTS) - set(app.get("events") or ()))
    if not lack:
        return Finding("Events", True, "all that are needed")
    return Finding(
        "Events", False, f"not told of: {', '.join(lack)}", f"tick them at {_page(app)}/permissions"
    )


def _page(app: dict[str, Any]) -> str:
    return f"{str(app.get('html_url') or '').rstrip('/')}"


def _installations(rest: Any, app: dict[str, Any]) -> Finding:
    found, error = _asked(lambda: rest.list_installations(per_page=100))
    if found is None:
        return Finding("Installations", False, error, "try again")
    accounts = [str((one.get("account") or {}).get("login")) for one in found]
    if not accounts:
        advice = f"install it at {_page(app)}/installations/new"
        return Finding("Installations", False, "the app is installed nowhere", advice)
    return Finding("Installations", True, f"installed at {', '.join(accounts)}")


def _webhook(rest: Any, settings: ServiceSettings) -> Iterator[Finding]:
    hook, error = _asked(rest.get_webhook_config_for_app)
    if hook is None:
        yield Finding("Webhook", False, error, "try again")
        return
    expected = f"{settings.address}/webhooks/github"
    told_to, kind = str(hook.get("url") or ""), hook.get("content_type")
    if told_to != expected:
        says = f"GitHub sends to {told_to or 'nowhere'}; this service is at {expected}"
        advice = "correct the app's webhook address, or RATCHET_PUBLIC_URL"
        yield Finding("Webhook", False, says, advice)
    elif kind != "json":
        yield Finding("Webhook", False, f"its content type is {kind}", "set it to application/json")
    elif not hook.get("secret"):
        yield Finding(
            "Webhook", False, "it has no secret", "set the one of RATCHET_GITHUB_WEBHOOK_SECRET_FILE"
        )
    else:
        yield Finding("Webhook", True, f"sends to {told_to}")
    yield _deliveries(rest)


def _deliveries(rest: Any) -> Finding:
    recent, error = _asked(lambda: rest.list_webhook_deliveries(per_page=RECENT))
    if recent is None:
        return Finding("Messages", False, error, "try again")
    failed = [one for one in recent if not 200 <= int(one.get("status_code") or 0) < 300]
    if not recent:
        return Finding("Messages", True, "none was sent yet")
    if not failed:
        return Finding("Messages", True, f"the last {len(recent)} have arrived")
    newest = failed[0]
    how = f"{newest.get('status_code')} {newest.get('status')}"
    says = f"{len(failed)} of the last {len(recent)} were not taken, the newest with {how}"
    return Finding("Messages", False, says, _why_not_taken(int(newest.get("status_code") or 0)))


def _why_not_taken(status: int) -> str:
    if status == 403:
        return "the secret on GitHub is not the one of RATCHET_GITHUB_WEBHOOK_SECRET_FILE"
    if status in (0, 502, 503, 504):
        return "GitHub cannot reach this service: is the api running, and is its address open to GitHub?"
    return "the log of `ratchet api` says why"


def _of_token(connection: Connection, repository: str | None) -> Iterator[Finding]:
    kit = connection.kit(None)
    user, error = _asked(kit.rest.users.get_authenticated)
    if user is None:
        yield Finding("Token", False, error, "is the token in RATCHET_GITHUB_TOKEN_FILE still valid?")
        return
    yield Finding(
        "Token", True, f"of {user.get('login')}; a token writes statuses, only an app writes checks"
    )
    if repository is None:
        yield Finding("Repository", False, "which one is not known", "name it: --repo owner/name")
        return
    place = Place(repository)
    found, error = _asked(lambda: kit.rest.repos.get(place.owner, place.name))
    if found is None:
        yield Finding("Repository", False, error, "give the token this repository, and contents: read")
    elif not (found.get("permissions") or {}).get("push"):
        advice = "it needs statuses: write and pull requests: write"
        yield Finding("Repository", False, f"the token may not write to {repository}", advice)
    else:
        yield Finding("Repository", True, f"{repository} can be read and written to")


def _secret(settings: ServiceSettings) -> Finding:
    try:
        secrets = secrets_of(settings.github_webhook_secret_file)
    except UnavailableError as error:
        return Finding("Secret", False, str(error), "name a file that this user may read")
    if not secrets:
        advice = "put the webhook's secret into a file, and name it by RATCHET_GITHUB_WEBHOOK_SECRET_FILE"
        return Finding("Secret", False, "no message is taken: no secret is set", advice)
    return Finding("Secret", True, "two are taken, while it is changed" if len(secrets) > 1 else "one is set")


def _sign_in(settings: ServiceSettings) -> Finding:
    """Say whether GitHub takes id and secret: of a code that it never gave out it says so only after it took those."""
    app = SignInApp.of(settings)
    try:
        identify(app, "of the doctor", "of the doctor")
    except AccessError:
        return Finding("Sign-in", True, f"people are sent back to {app.back_to}")
    except NotSetUpError as error:
        advice = f"set the app's client id and secret, and its callback address to {app.back_to}"
        return Finding("Sign-in", False, str(error), advice)
    except UnavailableError as error:
        return Finding("Sign-in", False, str(error), "try again")
    return Finding("Sign-in", False, "GitHub takes any code", "is RATCHET_GITHUB_URL a GitHub?")


def _address(settings: ServiceSettings) -> Finding:
    place = urlsplit(settings.address)
    if _is_local(place.hostname or ""):
        says = f"GitHub cannot reach {settings.address}: it is an address of this machine or network"
        return Finding("Address", False, says, "set RATCHET_PUBLIC_URL to one that GitHub can reach")
    if place.scheme != "https":
        advice = "serve it by https: what GitHub tells of a private repository is private"
        return Finding("Address", False, f"{settings.address} is not encrypted", advice)
    return Finding("Address", True, settings.address)


def _is_local(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return host == "localhost" or "." not in host


def _asked(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what GitHub says, or None and why it does not."""
    try:
        with told():
            return call().json(), ""
    except RatchetError as error:
        return None, str(error)
