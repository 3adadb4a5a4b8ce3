"""How one agent is set up: values only, put together by the command line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from workers.host.locks import shared_folder

DEFAULT_URL = "http://127.0.0.1:8440"
LONGEST_SETTLE_S = 60.0


@dataclass(frozen=True)
class Config:
    """One agent's settings."""

    url: str
    token: str = field(repr=False)
    name: str
    kinds: tuple[str, ...]
    data_dir: Path
    once: bool = False
    """Make one claim, measure what it gives, then stop."""
    token_file: Path | None = None
    """Where the token is kept, if in a file: nothing in a sandbox may see it."""
    redis_url: str | None = field(default=None, repr=False)
    script: Path | None = None
    """Describes the simulated devices."""
    lock_dir: Path = field(default_factory=shared_folder)
    environments_max_gb: float = 20.0
    longest_settle_s: float = LONGEST_SETTLE_S
    """How long an invocation may wait for its devices to be as warm as before the others, and alone [s]."""

    foreign_cpu: float | None = None
    """How many processors other programs may keep busy while this agent measures; None for the usual limit."""

    steal: float | None = None
    """Share of the processors' time that the hypervisor may take meanwhile; None for the usual limit."""

    @property
    def mirrors_dir(self) -> Path:
        """One bare mirror for each repository."""
        return self.data_dir / "mirrors"

    @property
    def environments_dir(self) -> Path:
        """The virtual environments of commits, kept between runs."""
        return self.data_dir / "environments"

    @property
    def packages_dir(self) -> Path:
        """The installers' caches; on one file system with the environments, so that files can be linked."""
        return self.data_dir / "packages"

    @property
    def work_dir(self) -> Path:
        """One folder for each run, removed at its end."""
        return self.data_dir / "work"

    @property
    def alive_file(self) -> Path:
        """Its age says when the service last accepted a request of this agent."""
        return self.data_dir / "alive"

    @property
    def spool_dir(self) -> Path:
        """What was measured and not yet accepted by the service."""
        return self.data_dir / "spool"


def default_data_dir() -> Path:
    """Return where an agent keeps its things when it is not told."""
    if os.geteuid() == 0:
        return Path("/var/lib/ratchet-worker")
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(base) / "ratchet-worker"
