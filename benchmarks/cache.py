"""Where what benchmarks fetch stays between runs, outside the checkout; `RATCHET_BENCH_CACHE` names another folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder, which need not exist."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("RATCHET_BENCH_CACHE") or Path(cache) / "ratchet-benchmarks")
