"""Head against base, fetched from a forge: what all ways to have its commits measured have in common."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.results import CommitRef
from app.services.check_request import CheckRequest
from app.settings import Settings, settings_digest

Compared = tuple[str, str, str]
"""What a check compares: base's and head's sha, and the digest of the settings."""


@dataclass(frozen=True)
class Comparison:
    """Two commits, the settings that they are measured by, and which suites of it; none means all."""

    base: CommitRef
    head: CommitRef
    settings: Settings
    suites: tuple[str, ...]
    bundle: str
    """The digest of the bundle with both commits; empty where there is a check that compares them."""

    @property
    def compared(self) -> Compared:
        """What a check of it compares."""
        return self.base.sha, self.head.sha, settings_digest(self.settings)

    def request(self, trigger: str, key: str) -> CheckRequest:
        """Return the check that measures it, for whoever has more to say of it."""
        return CheckRequest(
            settings=self.settings,
            source={"kind": "bundle", "location": self.bundle},
            base=self.base,
            head=self.head,
            suites=self.suites,
            trigger=trigger,
            key=key,
        )
