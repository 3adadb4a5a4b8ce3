"""What the list of runs is narrowed by, as its address tells it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from app.web.addresses import address

LIST = "/runs"


@dataclass(frozen=True)
class Wanted:
    """Runs of a project, a commit and a device class, older than the place `before`; what is empty is any."""

    project: str = ""
    commit: str = ""
    device_class: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether not all runs are wanted."""
        return bool(self.project or self.commit or self.device_class)

    @property
    def place(self) -> str | None:
        """Where the page begins, as `find_runs` takes it; a number alone is that of a run of ours."""
        return f"{self.before}." if self.before.isdigit() else self.before or None

    def address(self, **changed: object) -> str:
        """Return the list's address from its beginning, with something else wanted."""
        return address(LIST, asdict(self) | {"before": ""} | changed)

    def address_of_project(self, name: str) -> str:
        """Return the address of a project's runs; its device classes are its own."""
        return self.address(project=name, device_class="")
