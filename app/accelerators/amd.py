"""AMD's Instinct accelerators. ROCm shows each of the two dies (GCD) of an MI250 as a device of its own."""

from __future__ import annotations

from app.accelerators.model import Accelerator, tera, unverified

_VECTOR = "that of the vector units; the matrix units do twice as much"

AMD = (
    Accelerator(
        name="MI210",
        vendor="AMD",
        names=("mi210",),
        row="1 card",
        cores=104,
        flops=tera(fp32=22.6, bf16=181, fp16=181, int8=181),
        bandwidth_b_s=1638e9,
        memory_gib=64,
        tdp_w=300,
        source="https://www.amd.com/en/products/accelerators/instinct/mi200/mi210.html",
        unverified=unverified("fp32", "bf16", "fp16", "int8", "bandwidth", "memory", "tdp"),
        remarks={"fp32": _VECTOR},
    ),
    Accelerator(
        name="MI250",
        vendor="AMD",
        names=("mi250(-mcm)?(-oam)?(-ac-mba)?",),
        row="1 OAM module",
        part="1 GCD",
        parts=(2,),
        cores=208,
        flops=tera(fp32=45.3, bf16=362, fp16=362, int8=362),
        bandwidth_b_s=3277e9,
        memory_gib=128,
        tdp_w=500,
        source="https://www.amd.com/en/products/accelerators/instinct/mi200/mi250.html",
        unverified=unverified("bandwidth", "tdp"),
        remarks={"fp32": _VECTOR, "tdp": "it may draw up to 560 W at peaks"},
    ),
    Accelerator(
        name="MI300X",
        vendor="AMD",
        names=("mi300x(-oam|-o)?",),
        row="1 OAM module",
        cores=304,
        flops=tera(fp32=163.4, tf32=653.7, bf16=1307, fp16=1307, fp8=2614, int8=2614),
        bandwidth_b_s=5300e9,
        memory_gib=192,
        tdp_w=750,
        source="https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html",
    ),
)
