"""What keeps pages safe in a browser: headers, the session's cookie, and where a request may come from.

No page has an inline script or style, so the policy allows none. A check's report is one self-contained file
and gets a policy of its own.
"""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import quote, urlsplit

from fastapi import Request
from starlette.responses import Response

from app.api.deps import COOKIE
from app.config import ServiceSettings
from app.domain.errors import AccessError
from app.web.static import static_text

PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


def report_policy() -> str:
    """Return the policy of a report file: its own style, and of all scripts exactly our filter."""
    digest = base64.b64encode(hashlib.sha256(static_text("filter.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


def secure(response: Response, request: Request, *, policy: str = PAGE_POLICY) -> Response:
    """Add the headers that every page carries, and return the response."""
    response.headers.update(
        {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "private, no-cache",
        }
    )
    if request.url.scheme == "https":
        response.headers["Strict-Transport-Security"] = "max-age=31536000"
    return response


# --- cookies ---


def cookie_of(request: Request, name: str = COOKIE) -> str | None:
    """Return a cookie, by default the session's, under the name that fits the connection."""
    return request.cookies.get(_full_name(request, name))


def set_cookie(
    response: Response, request: Request, value: str, *, name: str = COOKIE, max_age_s: float | None = None
) -> None:
    """Give the browser its session, or another cookie that no script can read, for so long."""
    age_s = request.app.state.service.settings.session_ttl_s if max_age_s is None else max_age_s
    response.set_cookie(
        _full_name(request, name),
        value,
        max_age=round(age_s),
        path="/",
        secure=_is_https(request),
        httponly=True,
        samesite="lax",
    )


def delete_cookie(response: Response, request: Request, name: str = COOKIE) -> None:
    """Take the session, or another cookie, from the browser."""
    response.delete_cookie(
        _full_name(request, name), path="/", secure=_is_https(request), httponly=True, samesite="lax"
    )


def _full_name(request: Request, name: str) -> str:
    """Return what a cookie is called; over HTTPS with the prefix that browsers give to no other host or path."""
    return f"__Host-{name}" if _is_https(request) else name


def _is_https(request: Request) -> bool:
    """Tell whether the browser speaks HTTPS: to us, or to the proxy that `RATCHET_PUBLIC_URL` names."""
    settings: ServiceSettings = request.app.state.service.settings
    return request.url.scheme == "https" or settings.public_url.startswith("https://")


# --- where a request comes from, and where it may lead ---


def require_same_origin(request: Request) -> None:
    """Refuse an unsafe request unless the browser says that one of our own pages sent it.

    `Sec-Fetch-Site` is the browser's own word, which no page can set; older browsers, and all of them over
    plain HTTP, send `Origin` instead. Raises AccessError `cross_site`.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site == "same-origin" or (site is None and origin in _own_origins(request)):
        return
    raise AccessError(
        f"this form was sent from {origin or site or 'an unknown place'}, not from a page of this service at "
        f"{request.app.state.service.settings.address}; open that address and send it from there",
        code="cross_site",
    )


def _own_origins(request: Request) -> set[str]:
    public = urlsplit(request.app.state.service.settings.address)
    return {f"{request.url.scheme}://{request.url.netloc}", f"{public.scheme}://{public.netloc}"}


def local_path(text: str | None) -> str:
    """Return `text` if it is a path on this service, else `/`: nobody is sent elsewhere after signing in.

    Two slashes of either kind name another host, also with control characters between them.
    """
    path = text or "/"
    is_local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_local else "/"


def sign_in_path(request: Request) -> str:
    """Return the address of the sign-in page that leads back to this request."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return "/sign-in" if wanted == "/" else f"/sign-in?next={quote(wanted, safe='/')}"
