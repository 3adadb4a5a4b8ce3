"""What is so unless it is told otherwise: where state lives, and where the service listens.

Apart from the settings, which need pydantic: a command that only asks a running service starts without.
"""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8440


def default_data_dir() -> Path:
    """Return where state lives unless it is told otherwise: never inside a checkout."""
    if os.geteuid() == 0:
        return Path("/var/lib/ratchet")
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "ratchet"


def chosen_data_dir() -> Path:
    """Return the data folder that RATCHET_DATA_DIR names, else the one of no choice."""
    return Path(os.environ.get("RATCHET_DATA_DIR") or default_data_dir())
