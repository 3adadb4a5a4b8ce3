"""NVIDIA's data-centre GPUs. Their names are those of the driver (`nvmlDeviceGetName`)."""

from __future__ import annotations

from dataclasses import replace

from app.accelerators.model import Accelerator, tera, unverified

_V100 = "https://www.nvidia.com/en-us/data-center/v100/"
_A100 = "https://www.nvidia.com/en-us/data-center/a100/"
_A100_PEAKS = tera(fp32=19.5, tf32=156, bf16=312, fp16=312, int8=624)

_V100_SXM2_32 = Accelerator(
    name="V100-SXM2-32GB",
    vendor="NVIDIA",
    names=("v100-sxm2-32gb",),
    families=("v100-sxm2",),
    flops=tera(fp32=15.7, fp16=125),
    bandwidth_b_s=900e9,
    memory_gib=32,
    tdp_w=300,
    source=_V100,
    unverified=unverified("bandwidth", "tdp"),
)
_V100_PCIE_32 = replace(
    _V100_SXM2_32,
    name="V100-PCIE-32GB",
    names=("v100-pcie-32gb",),
    families=("v100-pcie",),
    flops=tera(fp32=14, fp16=112),
    tdp_w=250,
    unverified=unverified("fp32", "fp16", "bandwidth", "tdp"),
)
_A100_SXM4_80 = Accelerator(
    name="A100-SXM4-80GB",
    vendor="NVIDIA",
    names=("a100-sxm4?-80gb",),
    families=("a100-sxm4?",),
    flops=_A100_PEAKS,
    bandwidth_b_s=2039e9,
    memory_gib=80,
    tdp_w=400,
    source=_A100,
    unverified=unverified("bandwidth", "tdp"),
)
_A100_PCIE_80 = replace(
    _A100_SXM4_80,
    name="A100-PCIE-80GB",
    names=("a100-(80gb-pcie|pcie-80gb)",),
    families=("a100-pcie",),
    bandwidth_b_s=1935e9,
    tdp_w=300,
)
_H100_PEAKS = tera(fp32=67, tf32=494.5, bf16=989, fp16=989, fp8=1979, int8=1979)

NVIDIA = (
    _V100_SXM2_32,
    replace(_V100_SXM2_32, name="V100-SXM2-16GB", names=("v100-sxm2-16gb",), memory_gib=16),
    _V100_PCIE_32,
    replace(_V100_PCIE_32, name="V100-PCIE-16GB", names=("v100-pcie-16gb",), memory_gib=16),
    Accelerator(
        name="T4",
        vendor="NVIDIA",
        names=("t4(-16gb)?",),
        flops=tera(fp32=8.1, fp16=65, int8=130),
        bandwidth_b_s=320e9,
        memory_gib=16,
        tdp_w=70,
        source="https://www.nvidia.com/en-us/data-center/tesla-t4/",
        unverified=unverified("bandwidth", "tdp"),
        remarks={"fp16": "its 70 W hold the clock far below the one that the peak is stated for"},
    ),
    Accelerator(
        name="A10G",
        vendor="NVIDIA",
        names=("a10g(-24gb)?",),
        flops=tera(fp32=35, tf32=35, bf16=70, fp16=70, int8=140),
        bandwidth_b_s=600e9,
        memory_gib=24,
        tdp_w=300,
        source="https://aws.amazon.com/ec2/instance-types/g5/",
        unverified=unverified("fp32", "tf32", "bf16", "fp16", "int8", "bandwidth", "memory", "tdp"),
    ),
    Accelerator(
        name="L4",
        vendor="NVIDIA",
        names=("l4(-24gb)?",),
        flops=tera(fp32=30.3, tf32=60, bf16=121, fp16=121, fp8=242, int8=242),
        bandwidth_b_s=300e9,
        memory_gib=24,
        tdp_w=72,
        source="https://www.nvidia.com/en-us/data-center/l4/",
    ),
    Accelerator(
        name="L40S",
        vendor="NVIDIA",
        names=("l40s(-48gb)?",),
        flops=tera(fp32=91.6, tf32=183, bf16=362, fp16=362, fp8=733, int8=733),
        bandwidth_b_s=864e9,
        memory_gib=48,
        tdp_w=350,
        source="https://www.nvidia.com/en-us/data-center/l40s/",
    ),
    replace(
        _A100_SXM4_80,
        name="A100-SXM4-40GB",
        names=("a100-sxm4?-40gb",),
        bandwidth_b_s=1555e9,
        memory_gib=40,
    ),
    _A100_SXM4_80,
    replace(
        _A100_PCIE_80,
        name="A100-PCIE-40GB",
        names=("a100-(40gb-pcie|pcie-40gb)",),
        bandwidth_b_s=1555e9,
        memory_gib=40,
        tdp_w=250,
    ),
    _A100_PCIE_80,
    Accelerator(
        name="H100-PCIe",
        vendor="NVIDIA",
        names=("h100-pcie(-80gb)?", "h100-80gb-(pcie|hbm2e)"),
        flops=tera(fp32=51, tf32=378, bf16=756, fp16=756, fp8=1513, int8=1513),
        bandwidth_b_s=2000e9,
        memory_gib=80,
        tdp_w=350,
        source="https://www.nvidia.com/en-us/data-center/h100/",
        unverified=unverified("tdp"),
    ),
    Accelerator(
        name="H100-SXM",
        vendor="NVIDIA",
        names=("h100-80gb-hbm3", "h100-sxm5?(-80gb)?(-hbm3)?"),
        flops=_H100_PEAKS,
        bandwidth_b_s=3350e9,
        memory_gib=80,
        tdp_w=700,
        source="https://www.nvidia.com/en-us/data-center/h100/",
    ),
    Accelerator(
        name="H200-SXM",
        vendor="NVIDIA",
        names=("h200(-sxm5?)?(-141gb)?(-hbm3e)?",),
        flops=_H100_PEAKS,
        bandwidth_b_s=4800e9,
        memory_gib=141,
        tdp_w=700,
        source="https://www.nvidia.com/en-us/data-center/h200/",
    ),
    Accelerator(
        name="B200-SXM",
        vendor="NVIDIA",
        names=("b200(-sxm6?)?(-180gb)?(-hbm3e)?",),
        flops=tera(fp32=80, tf32=1125, bf16=2250, fp16=2250, fp8=4500, int8=4500),
        bandwidth_b_s=8000e9,
        memory_gib=180,
        tdp_w=1000,
        source="https://resources.nvidia.com/en-us-dgx-systems/dgx-b200-datasheet",
        unverified=unverified("tdp"),
    ),
)
