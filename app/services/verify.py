"""Look whether what the database holds can be: every invariant by its name, with what it is not true of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.store.repositories.invariants import INVARIANTS, Invariant, begin_looking, violations

EXAMPLES = 5
"""So many violations of an invariant are named."""


@dataclass(frozen=True)
class Finding:
    """An invariant, how often it does not hold, and some of what it does not hold for."""

    name: str
    says: str
    n: int
    examples: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether it holds."""
        return self.n == 0


def verify(session: Session, say: Callable[[Invariant], None] = lambda _: None) -> Iterator[Finding]:
    """Yield every invariant with what it is not true of, as of one moment; the session has done nothing yet."""
    begin_looking(session)
    yield from findings(session, say)


def findings(session: Session, say: Callable[[Invariant], None] = lambda _: None) -> Iterator[Finding]:
    """Yield every invariant with what it is not true of, as the session sees it."""
    for invariant in INVARIANTS:
        say(invariant)
        n, examples = violations(session, invariant, EXAMPLES)
        yield Finding(invariant.name, invariant.says, n, tuple(examples))
