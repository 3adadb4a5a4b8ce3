"""The compute side of the amdgpu driver (KFD): which GPUs programs can use, and which processes do.

`/sys/class/kfd/kfd/topology/nodes` has a folder for each processor and each GPU; a divided GPU has one for each part.
ROCm's runtime counts the GPUs in the order of their numbers, without those that this user or container may not look at.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workers.host.fingerprint import read_int, read_text
from workers.host.processes import foreign

KFD = "sys/class/kfd/kfd"
FIRST_NAMESPACE = "pid:[4026531836]"
"""The namespace of processes in which the kernel, and so KFD, counts (PROC_PID_INIT_INO)."""

FRAME_BUFFER = (1, 2)
"""Types of memory that are the GPU's own: HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC and _PRIVATE."""


class Node(NamedTuple):
    """A GPU, or a part of one, as programs see it.

    `number` is how the runtime counts it, `gpu_id` how KFD names it; `properties` are KFD's numbers.
    """

    number: int
    gpu_id: int
    name: str | None
    memory_b: int | None
    properties: dict[str, int]

    @property
    def address(self) -> str:
        """The GPU's place on the PCI bus; parts of a GPU have its place."""
        place = self.properties.get("location_id", 0)
        domain = self.properties.get("domain", 0)
        return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"

    @property
    def uuid(self) -> str | None:
        """The runtime's name of it, made of the chip's number; None for a chip that has no number."""
        number = self.properties.get("unique_id")
        return f"GPU-{number:016x}" if number else None

    @property
    def cores(self) -> int | None:
        """Compute units."""
        return self.properties.get("simd_count", 0) // (self.properties.get("simd_per_cu") or 4) or None


def nodes(root: Path) -> list[Node]:
    """Return the GPUs of a machine whose file system begins at `root`, in the runtime's order."""
    found: list[Node] = []
    folders = (root / KFD / "topology/nodes").glob("[0-9]*")
    for folder in sorted(folders, key=lambda folder: int(folder.name)):
        gpu_id, properties = read_int(folder / "gpu_id"), _numbers(folder / "properties")
        if gpu_id and properties:
            name = read_text(folder / "name")
            found.append(Node(len(found), gpu_id, name, _memory_b(folder), properties))
    return found


def _numbers(file: Path) -> dict[str, int]:
    """Return a file of names and numbers."""
    words = [line.split() for line in (read_text(file) or "").splitlines()]
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}


def _memory_b(folder: Path) -> int | None:
    banks = [_numbers(bank / "properties") for bank in (folder / "mem_banks").glob("*")]
    return (
        sum(bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in FRAME_BUFFER) or None
    )


def chosen(found: Sequence[Node], variable: str | None) -> list[Node]:
    """Return the GPUs that `ROCR_VISIBLE_DEVICES` leaves to a process: numbers, or names as far as they are clear.

    It counts until the first word that names no GPU, or one again.
    """
    if variable is None:
        return list(found)
    left: list[Node] = []
    for word in variable.split(","):
        node = _named(word.strip(), found)
        if node is None or node in left:
            break
        left.append(node)
    return left


def _named(word: str, found: Sequence[Node]) -> Node | None:
    if word.isdigit():
        return next((node for node in found if node.number == int(word)), None)
    named = [node for node in found if node.uuid and word and node.uuid.lower().startswith(word.lower())]
    return named[0] if len(named) == 1 and len(word) > len("GPU-") else None


def runtime_names(found: Sequence[Node]) -> dict[int, str]:
    """Return by number what the runtime calls each GPU: its uuid where each has one of its own, else its number."""
    uuids = [node.uuid for node in found]
    return {
        node.number: node.uuid if node.uuid and uuids.count(node.uuid) == 1 else str(node.number)
        for node in found
    }


def may_use(root: Path, node: Node) -> bool:
    """Tell whether this user may open what a program needs to use the GPU."""
    files = [root / "dev/kfd"]
    if minor := node.properties.get("drm_render_minor", 0):
        files.append(root / f"dev/dri/renderD{minor}")
    return all(os.access(file, os.R_OK | os.W_OK) for file in files)


def sees_processes(root: Path) -> bool:
    """Tell whether KFD's numbers of processes are those that this agent sees; in a container they mostly are not."""
    try:
        return os.readlink(root / "proc/self/ns/pid") == FIRST_NAMESPACE
    except OSError:
        return False


def foreign_pids(root: Path, gpu_id: int) -> list[int] | None:
    """Return the processes with memory or a queue on a GPU that are not this agent's; None where they are not told."""
    if not sees_processes(root):
        return None
    try:
        folders = [folder for folder in (root / KFD / "proc").iterdir() if folder.name.isdigit()]
    except OSError:
        return None
    return foreign(int(folder.name) for folder in folders if _uses(folder, gpu_id))


def _uses(folder: Path, gpu_id: int) -> bool:
    if read_int(folder / f"vram_{gpu_id}"):
        return True
    queues: list[Path] = []
    with contextlib.suppress(OSError):  # the process has ended
        queues = list((folder / "queues").iterdir())
    return any(read_int(queue / "gpuid") == gpu_id for queue in queues)
