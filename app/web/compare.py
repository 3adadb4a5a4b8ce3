"""The page that puts stored numbers of two commits, branches or device classes side by side."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request, Response

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import RatchetError
from app.domain.hardware import HardwareCase, HardwareComparison
from app.domain.results import case_label
from app.services.compare_stored import Compared, Pair, Wanted, compare_stored, worst_first
from app.services.comparison_choices import comparison_choices
from app.services.costs import installation_costs
from app.web.addresses import address
from app.web.compare_form import missing_side
from app.web.deps import PageNumber, Projects, Text, Viewer
from app.web.render import page

router = Router(prefix="/compare")

PAGE = 200
"""Pairs on one page."""

CASES = 50
"""Cases of a comparison of device classes that are shown; words narrow them."""


@router.get("")
def show_comparison(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    project: Text = "",
    base: Text = "",
    head: Text = "",
    base_device_class: Text = "",
    head_device_class: Text = "",
    q: Text = "",
    at: PageNumber = 1,
) -> Response:
    """Show the form, and where both sides are named the pairs that have all of the words of `q`, the worst first."""
    choices = comparison_choices(session, project, project_ids=project_ids)
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
            compared = compare_stored(
                session, viewer, choices.project, *sides, installation_costs(service.settings)
            )
        except RatchetError as error:
            trouble = str(error)
    words = q.casefold().split()
    pairs = worst_first(_having(compared, words)) if compared else []
    hardware = compared.hardware if compared else None
    cases = _cases_having(hardware, words) if hardware else []
    return page(
        request,
        "compare.html",
        status=404 if trouble else 200,
        choices=choices,
        given=given,
        compared=compared,
        trouble=trouble,
        missing=missing_side(choices.project, base, head, base_device_class, head_device_class),
        n_found=len(pairs),
        pairs=pairs[(at - 1) * PAGE : at * PAGE],
        at=at,
        pages=-(-len(pairs) // PAGE),
        hardware=hardware,
        cases=cases[:CASES],
        n_cases=len(cases),
        here_with=lambda **changed: address("/compare", given | changed),
    )


def _having(compared: Compared, words: list[str]) -> Iterator[Pair]:
    return (pair for pair in compared.pairs if all(word in pair.name.casefold() for word in words))


def _cases_having(hardware: HardwareComparison, words: list[str]) -> list[HardwareCase]:
    """Return the cases with all of the words in their name, their metrics or the device classes."""
    beside = f"{hardware.base.device_class} {hardware.head.device_class}"
    return [
        case for case in hardware.cases if all(word in f"{_name(case)} {beside}".casefold() for word in words)
    ]


def _name(case: HardwareCase) -> str:
    levels = (level for its in case.quantities for level in (its.base, its.head) if level)
    return " ".join([case_label(case.benchmark, case.params), *(level.metric for level in levels)])
