"""What a browser does next after a form was carried out."""

from __future__ import annotations

from fastapi import Request, Response
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse

from app.web.guard import secure
from app.wiring import Service


def lead_to(request: Request, path: str, service: Service, session: Session) -> Response:
    """Store what was done, have what follows from it relayed, and lead to a page of ours."""
    session.commit()  # before the browser follows, and before the outbox is relayed
    service.relay_soon()
    return secure(RedirectResponse(path, 303), request)
