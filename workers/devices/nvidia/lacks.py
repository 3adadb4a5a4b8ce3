"""What an NVIDIA GPU could tell and does not here, with the reason, and what to do about it.

What NVML calls not supported is not listed: that GPU does not have it.
"""

from __future__ import annotations

from workers.devices.base import Lack
from workers.devices.nvidia.gpu import OF_THE_WHOLE_GPU, Gpu, sees_all_processes
from workers.devices.nvidia.nvml import INSTALL, LOST, NOT_IN_BINDING, NOT_SUPPORTED, UNKNOWN, Refusal
from workers.readings.record import READINGS

KERNEL_LOG = "look for NVRM and Xid lines in the kernel's log (dmesg)"

WHOLE = Lack(
    ", ".join(OF_THE_WHOLE_GPU),
    "NVML tells it of a whole GPU only, and this is a MIG instance",
    "measure on a whole GPU (nvidia-smi -mig 0)",
)
HIDDEN = Lack(
    "foreign_pids",
    "the agent is in a container that hides the processes outside of it",
    "start the container with --pid=host (Kubernetes: hostPID: true)",
)


def gpu_lacks(gpu: Gpu) -> list[Lack]:
    """Return the readings that are refused now, those of one cause together, and what stands in the way."""
    gpu.tick()
    refused = {
        name: refusal
        for name, refusal in gpu.nvml.refusals.items()
        if name.partition(".")[0] in READINGS and refusal.error != NOT_SUPPORTED
    }
    lost = next((refusal.error for refusal in refused.values() if refusal.error in LOST), None)
    if lost is not None:
        reset = f"{KERNEL_LOG}; reset the GPU (nvidia-smi -r) or reboot"
        return [Lack("every reading", f"NVML answers {lost}: the driver has lost the GPU", reset)]
    causes: dict[tuple[str, str], list[str]] = {}
    for name, refusal in refused.items():
        causes.setdefault(_cause(gpu, refusal), []).append(name)
    found = [Lack(", ".join(names), why, how) for (why, how), names in causes.items()]
    if gpu.instance is not None:
        found.append(WHOLE)
    if not sees_all_processes():
        found.append(HIDDEN)
    return found


def _cause(gpu: Gpu, refusal: Refusal) -> tuple[str, str]:
    function, error = refusal
    if error == "NoPermission":
        return "the driver tells this user nothing of it", "run the agent as root, or ask the host's owner"
    if error == NOT_IN_BINDING:
        return f"the installed nvidia-ml-py has no {function}", f"{INSTALL} --upgrade"
    if error == UNKNOWN:
        return f"the driver {gpu.driver()} does not have {function}", "install a newer NVIDIA driver"
    return f"NVML answers {error} to {function}", KERNEL_LOG
