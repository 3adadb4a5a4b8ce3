"""Device kinds behind one interface (`base.Device`); the registry is `KINDS`.

A new kind is one module here and one line below. A lease may be on several devices of one kind (`group.DeviceGroup`).
"""

from __future__ import annotations

from workers.devices.amd import AmdDevice
from workers.devices.base import Device, Host
from workers.devices.cpu import CpuDevice
from workers.devices.jetson import JetsonDevice
from workers.devices.neuron import NeuronDevice
from workers.devices.nvidia import NvidiaDevice
from workers.devices.simulated import SimulatedDevice
from workers.devices.tpu import TpuDevice

KINDS: dict[str, type[Device]] = {
    "amd": AmdDevice,
    "cpu": CpuDevice,
    "jetson": JetsonDevice,
    "neuron": NeuronDevice,
    "nvidia": NvidiaDevice,
    "simulated": SimulatedDevice,
    "tpu": TpuDevice,
}


def detect(kinds: tuple[str, ...], host: Host) -> list[Device]:
    """Return the devices of these kinds that this host has, in the order of `kinds`.

    Raises:
        UsageError: a kind needs something that was not given, or what was given is wrong.
    """
    return [device for kind in kinds for device in KINDS[kind].detect(host)]
