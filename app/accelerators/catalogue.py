"""Every accelerator that figures are known of."""

from __future__ import annotations

from app.accelerators.amd import AMD
from app.accelerators.aws import NEURON
from app.accelerators.google import TPU
from app.accelerators.jetson import JETSON
from app.accelerators.model import Accelerator
from app.accelerators.nvidia import NVIDIA

ACCELERATORS: dict[str, Accelerator] = {
    entry.name: entry for vendor in (NVIDIA, AMD, TPU, NEURON, JETSON) for entry in vendor
}
"""Every accelerator by name, in the order in which they are listed to people."""
