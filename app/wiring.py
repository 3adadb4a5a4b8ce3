"""The one place that builds engine, queue and settings for a process."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING

from app.config import ServiceSettings
from app.integrations.queue import CeleryQueue, Relay, make_celery
from app.services.metrics.recorder import Recorder
from app.services.relay_outbox import BATCH, relay_outbox
from app.store.repositories import outbox
from app.store.session import Database

if TYPE_CHECKING:
    from app.integrations.dcgm import Prometheus
    from app.integrations.forge import Forge
    from app.services.weekly.current import CurrentReports


class Service:
    """What a door needs: settings, database and queue, built on first use."""

    def __init__(self, settings: ServiceSettings | None = None) -> None:
        self.settings = settings or ServiceSettings()  # type: ignore[call-arg]  # read from the environment
        self.begun = time.monotonic()

    @property
    def up_s(self) -> float:
        """How long this process has been up [s]."""
        return time.monotonic() - self.begun

    @cached_property
    def recorder(self) -> Recorder:
        """What this process counts for itself."""
        return Recorder()

    @cached_property
    def database(self) -> Database:
        """The database."""
        return Database(self.settings.database_url)

    @cached_property
    def probed(self) -> Database:
        """The database by a connection of its own, for whoever asks how the service is while all others are taken."""
        return Database(self.settings.database_url, pool_size=1)

    @cached_property
    def queue(self) -> CeleryQueue:
        """The queue."""
        return CeleryQueue(make_celery(self.settings.redis_url))

    @cached_property
    def prometheus(self) -> Prometheus | None:
        """The Prometheus that knows what GPUs did, None where the settings name none.

        There is one for the process, as it remembers when the server was away.
        """
        if not self.settings.prometheus_url:
            return None
        from app.integrations.dcgm import Prometheus  # a tenth of a second, and only `tasks` asks

        return Prometheus.of(self.settings)

    @cached_property
    def weekly(self) -> CurrentReports:
        """Weekly reports as things stand; there is one for the process, as its readers share what they ask for."""
        from app.services.weekly.current import CurrentReports  # much that most commands do without
        from app.services.weekly.watch import WITHIN_S, Watch

        watch = None
        if self.settings.prometheus_url:
            from app.integrations.dcgm import Prometheus

            server = Prometheus.of(self.settings, within_s=WITHIN_S)
            watch = Watch(server) if server else None
        return CurrentReports(self.database, self.settings, watch)

    @cached_property
    def forge(self) -> Forge | None:
        """The forge whose pull requests are checked, None where the settings name none."""
        if not self.settings.has_github:
            return None
        from app.integrations.github.connection import Credentials  # only `tasks` speaks to it
        from app.integrations.github.github import GitHub

        known = self.settings
        credentials = Credentials.read(known.github_app_id, known.github_key_file, known.github_token_file)
        return GitHub(known.github_url, known.github_api, credentials)

    @cached_property
    def relaying(self) -> Relay:
        """The thread that relays the outbox for this process."""
        return Relay(self.relay)

    def relay(self) -> float | None:
        """Send what is due in the outbox; return when more is [s], None where the clock is there sooner."""
        more = True
        while more:
            with self.database.session() as session:
                more = relay_outbox(session, self.queue) == BATCH
                due_s = outbox.next_due_s(session)
        return due_s if due_s is not None and due_s < self.settings.relay_interval_s else None

    def relay_soon(self, after_s: float = 0) -> None:
        """Have the outbox relayed beside, after this time [s]; what the broker does not take, the clock's tick sends.

        It happens in the process that wrote the message: a hint reaches its agent without waiting for another's turn.
        """
        self.relaying.soon(after_s)

    def close(self) -> None:
        """Close what was opened."""
        if "relaying" in self.__dict__:
            self.relaying.close()
        for name in ("database", "probed"):
            if name in self.__dict__:
                getattr(self, name).close()
