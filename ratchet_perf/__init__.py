"""The numbers that a Ratchet service has stored, asked for in Python: `from ratchet_perf import Ratchet`.

Needs httpx alone, and pandas for frames. docs/python-client.md shows it at work.
"""

from ratchet_perf.client import Ratchet
from ratchet_perf.errors import (
    ConflictError,
    NotAllowedError,
    NotFoundError,
    RatchetError,
    RefusedError,
    UnavailableError,
    UsageError,
)
from ratchet_perf.frames import Records, to_frame
from ratchet_perf.records import (
    Alert,
    AlertChange,
    Change,
    Comparison,
    FoundSeries,
    Pair,
    Point,
    Posted,
    PostedSeries,
    Project,
    Result,
    Run,
    RunDetail,
    Sample,
    Series,
    Side,
    Trend,
)

__all__ = [
    "Alert",
    "AlertChange",
    "Change",
    "Comparison",
    "ConflictError",
    "FoundSeries",
    "NotAllowedError",
    "NotFoundError",
    "Pair",
    "Point",
    "Posted",
    "PostedSeries",
    "Project",
    "Ratchet",
    "RatchetError",
    "Records",
    "RefusedError",
    "Result",
    "Run",
    "RunDetail",
    "Sample",
    "Series",
    "Side",
    "Trend",
    "UnavailableError",
    "UsageError",
    "to_frame",
]
