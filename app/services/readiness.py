"""Whether this process can serve: the database is there with the right schema, and somebody sweeps.

A sweep that is away counts only once this process has been up for some sweeps: a system that just started, or was down
for a night, is ready before `tasks` is. So whoever waits for the api may be what the sweep waits for.
"""

from __future__ import annotations

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.reports.quantities import duration
from app.services.read_health import SWEEP_LATE
from app.store.migrate import require_current
from app.store.repositories import metrics
from app.store.session import Database, answering


def require_ready(database: Database, settings: ServiceSettings, *, up_s: float) -> None:
    """Raise UnavailableError saying which part is not ready: `database_away`, `schema_mismatch` or `sweeper_silent`.

    Args:
        database: the process's.
        settings: with how often is swept.
        up_s: how long this process has been up [s].
    """
    try:
        with answering():
            require_current(database.engine)
            with database.session() as session:
                silent_s = metrics.last_swept_s(session)
    except UnavailableError as error:
        if error.code == UnavailableError.code:
            raise UnavailableError(str(error), code="database_away") from error
        raise
    patience_s = SWEEP_LATE * settings.sweep_interval_s
    if up_s > patience_s and (silent_s is None or silent_s > patience_s):
        since = (
            "has not come to its end yet"
            if silent_s is None
            else f"last came to its end {duration(silent_s)} ago"
        )
        raise UnavailableError(
            f"the sweep {since}: are `ratchet tasks`, `ratchet beat` and Redis up? Requests are served meanwhile",
            code="sweeper_silent",
        )
