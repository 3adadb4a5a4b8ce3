"""The device that is asked about: a GPU, or one MIG instance of a GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass

MIG = "MIG-"
OLD_MIG = re.compile(r"MIG-(GPU-[0-9A-Za-z-]+)/(\d+)/(\d+)")
"""The name of an instance before driver R470: GPU, GPU instance, compute instance."""
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/-]{0,127}")


@dataclass(frozen=True)
class Gpu:
    """A GPU by its UUID; of a MIG instance also its GPU's UUID and the number of the GPU instance, where known.

    dcgm-exporter tells an instance by the GPU's UUID and the label `GPU_I_ID`, which is NVML's GPU instance id.
    """

    uuid: str
    parent: str | None = None
    instance: int | None = None
    compute_instance: int | None = None

    @classmethod
    def named(cls, uuid: str, *, parent: str | None = None, instance: int | None = None) -> Gpu:
        """Return the device of this UUID; the old form of a MIG UUID tells parent and instance by itself."""
        old = OLD_MIG.fullmatch(uuid)
        if old is not None:
            return cls(uuid, old[1], int(old[2]), int(old[3]))
        return cls(uuid, parent, instance)

    @property
    def is_instance(self) -> bool:
        """Whether it is a part of a GPU."""
        return self.uuid.startswith(MIG) or self.instance is not None

    @property
    def is_located(self) -> bool:
        """Whether it is known where to look: every GPU is, an instance by its GPU and its number."""
        return not self.is_instance or (self.parent is not None and self.instance is not None)

    @property
    def gpu_uuid(self) -> str:
        """UUID of the whole GPU, where known; else its own."""
        return self.parent or self.uuid

    @property
    def is_well_named(self) -> bool:
        """Whether the names can stand in a query as they are: they come from an agent."""
        return all(NAME.fullmatch(name) for name in (self.uuid, self.gpu_uuid))

    def document(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {"uuid": self.uuid, "gpu_uuid": self.parent, "gpu_instance": self.instance}
