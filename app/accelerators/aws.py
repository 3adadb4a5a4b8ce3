"""AWS's Neuron chips. Frameworks see NeuronCores as devices; on Trainium2 two of them make a logical one by default.

Names are the instance types that carry them, as Neuron's tools give them, and the chips' own.
"""

from __future__ import annotations

from app.accelerators.model import GIB, Accelerator, tera

_DOCS = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/"
_SIZE = r"(-\d*xlarge)?"
_V2_PEAKS = tera(fp32=47.5, tf32=190, bf16=190, fp16=190, fp8=190, int8=380)
_CFP8 = {"fp8": "in the chip's configurable format (cFP8)"}

NEURON = (
    Accelerator(
        name="Inferentia1",
        vendor="AWS",
        names=(f"inf1{_SIZE}", "inferentia1?"),
        row="1 chip",
        part="1 NeuronCore",
        parts=(4,),
        cores=4,
        flops=tera(bf16=64, fp16=64, int8=128),
        bandwidth_b_s=50 * GIB,
        memory_gib=8,
        tdp_w=None,
        source=f"{_DOCS}inferentia.html",
    ),
    Accelerator(
        name="Inferentia2",
        vendor="AWS",
        names=(f"inf2{_SIZE}", "inferentia2"),
        row="1 chip",
        part="1 NeuronCore",
        parts=(2,),
        cores=2,
        flops=_V2_PEAKS,
        bandwidth_b_s=820 * GIB,
        memory_gib=32,
        tdp_w=None,
        source=f"{_DOCS}inferentia2.html",
        remarks=_CFP8,
    ),
    Accelerator(
        name="Trainium1",
        vendor="AWS",
        names=(f"trn1n?{_SIZE}", "trainium1?"),
        row="1 chip",
        part="1 NeuronCore",
        parts=(2,),
        cores=2,
        flops=_V2_PEAKS,
        bandwidth_b_s=820 * GIB,
        memory_gib=32,
        tdp_w=None,
        source=f"{_DOCS}trainium.html",
        remarks=_CFP8,
    ),
    Accelerator(
        name="Trainium2",
        vendor="AWS",
        names=(f"trn2[nu]?{_SIZE}", "trainium2"),
        row="1 chip",
        part="1 logical NeuronCore",
        parts=(4, 8),
        cores=8,
        flops=tera(fp32=181, tf32=667, bf16=667, fp16=667, fp8=1299),
        bandwidth_b_s=2900e9,
        memory_gib=96,
        tdp_w=None,
        source=f"{_DOCS}trainium2.html",
    ),
)
