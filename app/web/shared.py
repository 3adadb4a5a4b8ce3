"""A check's report for whoever holds its signed link: nothing else is opened by it, and nothing else is on the page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response
from starlette.responses import HTMLResponse

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.services.render_report import report_html
from app.services.report_links import PATH, Standing, standing_of
from app.web.deps import Id
from app.web.guard import report_policy, secure
from app.web.render import page

router = Router()

STATUS = {Standing.WRONG: 403, Standing.EXPIRED: 410}

PRIVATE = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"}
"""The link is the key: it is told to no other site, and what it opens is kept by nobody on the way."""

Signature = Annotated[str, Path(max_length=100)]


@router.get(f"/{PATH}/{{check_id}}/{{until}}/{{signature}}")
def show_shared_report(
    request: Request, service: ServiceDep, session: SessionDep, check_id: Id, until: Id, signature: Signature
) -> Response:
    """Return the report; where the link is not good, or not any more, say so and how to sign in."""
    standing = standing_of(session, service.settings, check_id, until, signature)
    if standing is Standing.GOOD:
        response = secure(HTMLResponse(report_html(session, check_id)), request, policy=report_policy())
    else:
        response = page(
            request, "report_link.html", status=STATUS[standing], standing=standing.value, check_id=check_id
        )
    response.headers.update(PRIVATE)
    return response
