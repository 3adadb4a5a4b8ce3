"""The frozen reference workload: it moves only when the machine does.

`control_version` names what is measured. Every file below that is listed in `FROZEN` goes into it, so a change in one
of them, however small, begins new series on every device: change them only for a reason that is worth that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
FROZEN = (
    "kit.py",
    "pacing.py",
    "probes.py",
    "normal.py",
    "backends/__init__.py",
    "backends/interface.py",
    "backends/host.py",
    "backends/stdlib.py",
    "backends/cuda.py",
    "backends/driver.py",
    "backends/ptx.py",
    "backends/with_torch.py",
    "backends/with_jax.py",
    "backends/simulated.py",
)
"""The files of the kit, in the order in which they are digested."""


def control_version() -> str:
    """Return the digest of the kit's files (sha256, in hex)."""
    return digest_of((name, (FOLDER / name).read_bytes()) for name in FROZEN)


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """Return the digest of files by their names and contents, in this order."""
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
