"""What vendors' tools print about devices, read into `record.DeviceRecord`; the registry is `READERS`.

A new form of output is one `Reader` in the module of its tool, and the module's line below.
"""

from __future__ import annotations

from workers.readings import (
    amd_smi_forms,
    dcgm_exporter,
    intel_gpu_top,
    neuron_ls,
    neuron_monitor,
    neuron_prometheus,
    nvidia_smi_capture,
    nvpmodel,
    powermetrics,
    rocm_smi,
    rocminfo,
    superbench,
    tegrastats,
    tpu_info,
    xpu_smi,
)
from workers.readings.reader import Reader, Recording

READERS: tuple[Reader, ...] = (
    *nvidia_smi_capture.READERS,
    *dcgm_exporter.READERS,
    *superbench.READERS,
    *amd_smi_forms.READERS,
    *rocm_smi.READERS,
    *rocminfo.READERS,
    *intel_gpu_top.READERS,
    *nvpmodel.READERS,
    *powermetrics.READERS,
    *tegrastats.READERS,
    *xpu_smi.READERS,
    *neuron_ls.READERS,
    *neuron_monitor.READERS,
    *neuron_prometheus.READERS,
    *tpu_info.READERS,
)
"""Every form of output that is known."""


def read(text: str) -> Recording | None:
    """Return what a recorded output tells, recognised by its content; None where no reader knows it.

    Raises:
        UnreadableError: it is a known tool's output, but broken.
    """
    reader = next((reader for reader in READERS if reader.recognises(text)), None)
    return None if reader is None else Recording(reader.tool, reader.form, reader.read(text))
