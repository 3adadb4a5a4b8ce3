"""The page of one commit."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

from fastapi import Path, Request, Response

from app.api.deps import SessionDep
from app.api.routing import Router
from app.services.read_commit import read_commit
from app.web.addresses import address
from app.web.deps import PageNumber, Text, Viewer
from app.web.render import page
from app.web.run_outcomes import outcome_words

router = Router(prefix="/commits")

PAGE = 100
"""Results on one page."""


@router.get("/{sha}")
def show_commit(
    request: Request,
    session: SessionDep,
    viewer: Viewer,
    sha: Annotated[str, Path(max_length=64, pattern=r"^[^\x00]*$")],
    project: Text = "",
    at: PageNumber = 1,
) -> Response:
    """Show one commit of a project; `at` is the page of its results."""
    commit = read_commit(session, viewer, project, sha)
    here = {"project": commit.project}
    shown = commit.pairs[(at - 1) * PAGE : at * PAGE]
    return page(
        request,
        "commit.html",
        commit=commit,
        outcomes=outcome_words(commit.runs),
        devices=[
            (device, list(its)) for device, its in groupby(shown, key=lambda pair: pair.either.device_class)
        ],
        at=at,
        pages=-(-len(commit.pairs) // PAGE),
        here_with=lambda **changed: address(f"/commits/{commit.commit.sha}", here | changed),
    )
