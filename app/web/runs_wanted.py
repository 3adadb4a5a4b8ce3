"""What the list of runs is narrowed by, as its address tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from app.web.addresses import address

LIST = "/runs"


@dataclass(frozen=True)
class RunsWanted:
    """Runs of a project, a commit and a device class, older than the place `before`; what is empty is any."""

    project: str = ""
    commit: str = ""
    device_class: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether not all runs are wanted."""
        return bool(self.project or self.commit or self.device_class)

    def devices_beside(self, known: Iterable[str]) -> list[str]:
        """Return the device classes to choose from: those that are known, and the one that is chosen."""
        return sorted({*known, self.device_class} - {""})

    def address(self, **changed: object) -> str:
        """Return the list's address from its beginning, with something else wanted."""
        return address(LIST, asdict(self) | {"before": ""} | changed)

    def address_of_project(self, name: str) -> str:
        """Return the address of a project's runs; its device classes are its own."""
        return self.address(project=name, device_class="")
