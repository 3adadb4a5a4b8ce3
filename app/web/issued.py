"""A token that was just issued, on its way to the page that shows it once: in a cookie that no script can read.

So the page has an address of its own, which holds no secret, and to load it anew issues no second token.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request, Response
from sqlalchemy.orm import Session

from app.services.access import PREFIX
from app.web.following import lead_to
from app.web.forms import shown_once
from app.web.guard import cookie_of, delete_cookie, set_cookie
from app.wiring import Service

COOKIE = "ratchet_issued"
WITHIN_S = 60
"""How long a browser may take from the form to the page."""


def lead_to_token(request: Request, path: str, text: str, service: Service, session: Session) -> Response:
    """Store the token, and lead to the page that shows its text."""
    response = lead_to(request, path, service, session)
    set_cookie(response, request, text, name=COOKIE, max_age_s=WITHIN_S)
    return shown_once(response)


def issued_in(request: Request, public_ids: Iterable[str]) -> str:
    """Return the text that is on its way if it is that of one of these tokens, else an empty one."""
    text = cookie_of(request, COOKIE) or ""
    return text if any(text.startswith(f"{PREFIX}_{its}_") for its in public_ids) else ""


def shown_to(request: Request, page: Response, issued: str) -> Response:
    """Return a page; where it shows what was on its way, the browser forgets that, and keeps no copy."""
    if not issued:
        return page
    delete_cookie(page, request, COOKIE)
    return shown_once(page)
