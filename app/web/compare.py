"""The page that puts stored numbers of two commits, branches or device classes side by side."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request, Response

from app.api.deps import SessionDep
from app.domain.errors import RatchetError
from app.services.compare_stored import Compared, Pair, Wanted, compare_stored, worst_first
from app.services.comparison_choices import comparison_choices
from app.web.addresses import address
from app.web.deps import BoundProject, PageNumber, Text, Viewer
from app.web.render import page

router = APIRouter(prefix="/compare")

PAGE = 200
"""Pairs on one page."""


@router.get("")
def show_comparison(
    request: Request,
    session: SessionDep,
    viewer: Viewer,
    project_id: BoundProject,
    project: Text = "",
    base: Text = "",
    head: Text = "",
    base_device_class: Text = "",
    head_device_class: Text = "",
    q: Text = "",
    at: PageNumber = 1,
) -> Response:
    """Show the form, and where both sides are named the pairs that have all of the words of `q`, the worst first."""
    choices = comparison_choices(session, project, project_id=project_id)
    given = {
        "project": choices.project,
        "base": base,
        "head": head,
        "base_device_class": base_device_class,
        "head_device_class": head_device_class,
        "q": q,
    }
    compared, trouble = None, ""
    if choices.project and base and head:
        sides = Wanted(base, base_device_class), Wanted(head, head_device_class)
        try:
            compared = compare_stored(session, viewer, choices.project, *sides)
        except RatchetError as error:
            trouble = str(error)
    pairs = worst_first(_having(compared, q.casefold().split())) if compared else []
    return page(
        request,
        "compare.html",
        status=404 if trouble else 200,
        choices=choices,
        given=given,
        compared=compared,
        trouble=trouble,
        n_found=len(pairs),
        pairs=pairs[(at - 1) * PAGE : at * PAGE],
        at=at,
        pages=-(-len(pairs) // PAGE),
        here_with=lambda **changed: address("/compare", given | changed),
    )


def _having(compared: Compared, words: list[str]) -> Iterator[Pair]:
    return (pair for pair in compared.pairs if all(word in pair.name.casefold() for word in words))
