"""Searches that people keep: a name for what a list's address asks for."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from sqlalchemy.orm import Session

from app.domain.errors import AccessError, ConflictError, DataError, NotFoundError
from app.services.access import Principal
from app.store.repositories import saved_searches

PAGES = {"/series": "Series", "/alerts": "Alerts"}
"""Lists whose searches are kept, and what they are called."""

MOST = 50
"""Searches of one person."""

LONGEST_NAME, LONGEST_QUERY = 60, 2_000

NOT_KEPT = frozenset({"at", "before"})
"""Of an address: where in the list somebody was."""

SAID_BY_NOTHING = frozenset({"owner"})
"""Of an address: what asks for something when it is empty, as for alerts that nobody has."""


@dataclass(frozen=True)
class KeptSearch:
    """A search that somebody kept, and its address."""

    id: int
    page: str
    name: str
    address: str


def kept_searches(
    session: Session, principal: Principal | None, page: str | None = None
) -> tuple[KeptSearch, ...]:
    """Return the searches that a person has kept, of one list or of all, by name; none of whoever is no person."""
    if principal is None or principal.user_id is None or not principal.is_person:
        return ()
    rows = saved_searches.of_user(session, principal.user_id, page)
    return tuple(KeptSearch(row.id, row.page, row.name, f"{row.page}?{row.query}") for row in rows)


def keep_search(session: Session, principal: Principal, page: str, query: str, name: str) -> str:
    """Keep a search and return its address; one of the same name is replaced.

    Raises DataError for a bad name or for what asks for nothing, ConflictError where somebody has kept too many.
    """
    user_id = _user_id(principal)
    its_name, its_query = name.strip(), _plain(query)
    if page not in PAGES or not its_query:
        raise DataError("Search for something first, then keep it.")
    if not 0 < len(its_name) <= LONGEST_NAME or not its_name.isprintable():
        raise DataError(f"Give the search a name of 1 to {LONGEST_NAME} printed characters.")
    if len(saved_searches.of_user(session, user_id)) >= MOST:
        raise ConflictError(f"you have kept {MOST} searches: forget one first")
    saved_searches.keep(session, user_id, page, its_name, its_query)
    return f"{page}?{its_query}"


def forget_search(session: Session, principal: Principal, search_id: int) -> str:
    """Forget a search of a person's; return the list that it was of. Raises NotFoundError for none of theirs."""
    page = saved_searches.remove(session, _user_id(principal), search_id)
    if page is None:
        raise NotFoundError("you have kept no such search")
    return page


def _plain(query: str) -> str:
    """Return what an address asks for in one form, without where in the list it was."""
    if len(query) > LONGEST_QUERY or "\x00" in query or "%00" in query:
        raise DataError(f"a search has {LONGEST_QUERY} characters at the most")
    told = parse_qsl(query, keep_blank_values=True)
    return urlencode(
        [(key, value) for key, value in told if key not in NOT_KEPT and (value or key in SAID_BY_NOTHING)]
    )


def _user_id(principal: Principal) -> int:
    if principal.user_id is None or not principal.is_person:
        raise AccessError("only people who signed in by name keep searches")
    return principal.user_id
