"""Searches that people keep."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import SavedSearch


def of_user(session: Session, user_id: int, page: str | None = None) -> Sequence[SavedSearch]:
    """Return the searches of a person by name, of one page or of all."""
    query = (
        select(SavedSearch).where(SavedSearch.user_id == user_id).order_by(SavedSearch.name, SavedSearch.id)
    )
    return session.scalars(query if page is None else query.where(SavedSearch.page == page)).all()


def keep(session: Session, user_id: int, page: str, name: str, query: str) -> None:
    """Store a search; one of the same name is replaced."""
    statement = insert(SavedSearch).values(user_id=user_id, page=page, name=name, query=query)
    its = ["user_id", "page", "name"]
    session.execute(statement.on_conflict_do_update(index_elements=its, set_={"query": query}))


def remove(session: Session, user_id: int, search_id: int) -> str | None:
    """Forget a search of a person's; return the page that it was of, None for one that is none of theirs."""
    its = SavedSearch.id == search_id, SavedSearch.user_id == user_id
    return session.scalars(delete(SavedSearch).where(*its).returning(SavedSearch.page)).one_or_none()
