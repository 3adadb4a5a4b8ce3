"""Device kinds behind one interface (`base.Device`); the registry is `KINDS`.

A new kind is one module here and one line below. A lease may be on several devices of one kind (`group.DeviceGroup`).
"""

from __future__ import annotations

from workers.devices.amd.device import AmdDevice
from workers.devices.base import Device, Host
from workers.devices.cpu import CpuDevice
from workers.devices.jetson.device import JetsonDevice
from workers.devices.neuron.device import NeuronDevice
from workers.devices.nvidia.device import NvidiaDevice
from workers.devices.simulated.device import SimulatedDevice
from workers.devices.tpu.device import TpuDevice
from workers.errors import UsageError

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
        UsageError: a kind has no device here, needs something that was not given, or what was given is wrong.
    """
    return [device for kind in kinds for device in _found(kind, host)]


def _found(kind: str, host: Host) -> list[Device]:
    found: list[Device] = list(KINDS[kind].detect(host))
    if found:
        return found
    lack = KINDS[kind].absent()
    why = (
        f"{lack.why}; {lack.how}"
        if lack
        else "nothing here points to one; `ratchet devices` lists what there is"
    )
    raise UsageError(f"--kind {kind}: this host has no device of this kind: {why}")
