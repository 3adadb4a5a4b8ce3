"""What vendors' tools print about devices, read into `record.DeviceRecord`; the registry is `READERS`.

A new form of output is one `Reader` in the module of its tool, and the module's line below.
"""

from __future__ import annotations

import re
from textwrap import dedent

from workers.readings.amd import rocm_smi, rocminfo
from workers.readings.amd import smi_forms as amd_smi_forms
from workers.readings.apple import powermetrics
from workers.readings.intel import intel_gpu_top, xpu_smi
from workers.readings.jetson import nvpmodel, tegrastats
from workers.readings.neuron import neuron_ls, neuron_monitor, neuron_prometheus
from workers.readings.nvidia import dcgm_exporter, superbench
from workers.readings.nvidia import smi_capture as nvidia_smi_capture
from workers.readings.reader import PROMPT, Reader, Recording
from workers.readings.tpu import tpu_info
from workers.readings.wrappings import ESCAPES

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

LONGEST_PROMPT = 300


def read(text: str) -> Recording | None:
    """Return what a recorded output tells, recognised by its content; None where no reader knows it.

    A quotation, all of its lines indented, is read as what is quoted. Colours, and a shell's prompt at the end, are no
    part of an output.

    Raises:
        UnreadableError: it is a known tool's output, but broken.
    """
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    if text.lstrip("\n")[:1] in (" ", "\t"):
        text = dedent(text)
    last = text[text.rfind("\n") + 1 :]
    if len(last) < LONGEST_PROMPT and re.fullmatch(PROMPT, last):
        text = text.removesuffix(last)
    reader = next((reader for reader in READERS if reader.recognises(text)), None)
    return None if reader is None else Recording(reader.tool, reader.form, reader.read(text))
