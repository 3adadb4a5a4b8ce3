"""Google's TPUs, by chip. A TPU v2 or v3 shows to programs as one device per TensorCore, later ones as one per chip.

Names are those of tpu-info ("TPU v6e chip"), of PJRT ("TPU v5 lite", "TPU v5" for v5p), of accelerator types
("v5litepod-8") and of node labels ("tpu-v6e-slice").
"""

from __future__ import annotations

from app.accelerators.model import Accelerator, tera, unverified

TPU = (
    Accelerator(
        name="TPU-v2",
        vendor="Google",
        names=(r"(tpu-)?v2(-\d+)?(-chip)?",),
        row="1 chip",
        part="1 TensorCore",
        parts=(2,),
        cores=2,
        flops=tera(bf16=45),
        bandwidth_b_s=700e9,
        memory_gib=16,
        tdp_w=280,
        source="https://cloud.google.com/tpu/docs/v2",
        unverified=unverified("tdp"),
    ),
    Accelerator(
        name="TPU-v3",
        vendor="Google",
        names=(r"(tpu-)?v3(-\d+)?(-chip)?",),
        row="1 chip",
        part="1 TensorCore",
        parts=(2,),
        cores=2,
        flops=tera(bf16=123),
        bandwidth_b_s=900e9,
        memory_gib=32,
        tdp_w=450,
        source="https://cloud.google.com/tpu/docs/v3",
        unverified=unverified("tdp"),
        remarks={"tdp": "the source states 262 W as the highest power measured"},
    ),
    Accelerator(
        name="TPU-v4",
        vendor="Google",
        names=(r"(tpu-)?v4(-\d+)?(-(chip|podslice))?",),
        row="1 chip",
        flops=tera(bf16=275, int8=275),
        bandwidth_b_s=1200e9,
        memory_gib=32,
        tdp_w=192,
        source="https://docs.cloud.google.com/tpu/docs/v4",
        remarks={"tdp": "the highest power measured"},
    ),
    Accelerator(
        name="TPU-v5e",
        vendor="Google",
        names=(r"(tpu-)?(v5e|v5-?lite|v5litepod)(-\d+)?(-(chip|podslice|device))?",),
        row="1 chip",
        flops=tera(bf16=197, int8=394),
        bandwidth_b_s=819e9,
        memory_gib=16,
        tdp_w=None,
        source="https://docs.cloud.google.com/tpu/docs/v5e",
    ),
    Accelerator(
        name="TPU-v5p",
        vendor="Google",
        names=(r"(tpu-)?v5p(-\d+)?(-(chip|slice))?", "tpu-v5"),
        row="1 chip",
        flops=tera(bf16=459, int8=918),
        bandwidth_b_s=2765e9,
        memory_gib=95,
        tdp_w=None,
        source="https://docs.cloud.google.com/tpu/docs/v5p",
    ),
    Accelerator(
        name="TPU-v6e",
        vendor="Google",
        names=(r"(tpu-)?(v6e|v6-?lite)(-\d+)?(-(chip|slice))?", "(tpu-)?trillium"),
        row="1 chip",
        flops=tera(bf16=918, fp8=918, int8=1836),
        bandwidth_b_s=1640e9,
        memory_gib=32,
        tdp_w=None,
        source="https://docs.cloud.google.com/tpu/docs/v6e",
        unverified=unverified("fp8"),
        remarks={
            "fp8": "not in the source; JAX counts it at the rate of bf16",
            "bandwidth": "later versions of the source say 1600 GB/s",
        },
    ),
)
