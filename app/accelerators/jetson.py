"""NVIDIA's Jetson modules. Peaks hold in the module's highest power mode, mostly MAXN; those of int8 count the DLAs.

Names are those of the device tree ("NVIDIA Jetson AGX Orin Developer Kit"), which leave the memory unsaid, and classes.
"""

from __future__ import annotations

from app.accelerators.model import Accelerator, tera, unverified

_KIT = "(-engineering-reference)?(-developer-kit)?(-super)?"
_MODULES = "https://developer.nvidia.com/embedded/jetson-modules"
_WITH_DLA = "1 module: GPU and 2 DLA"
_HALF_OF_INT8 = "half of the dense int8 peak of the GPU"

JETSON = (
    Accelerator(
        name="Jetson-Nano",
        vendor="NVIDIA",
        names=("jetson-nano(-4gb)?(-developer-kit)?",),
        row="1 module",
        flops=tera(fp32=0.236, fp16=0.472),
        bandwidth_b_s=25.6e9,
        memory_gib=4,
        tdp_w=10,
        source="https://developer.nvidia.com/embedded/jetson-nano",
        unverified=unverified("fp32", "bandwidth", "tdp"),
        full_mode="MAXN",
    ),
    Accelerator(
        name="Jetson-Xavier-NX",
        vendor="NVIDIA",
        names=("jetson-xavier-nx(-8gb)?(-developer-kit)?",),
        row=_WITH_DLA,
        flops=tera(fp32=0.84, fp16=6, int8=21),
        bandwidth_b_s=59.7e9,
        memory_gib=8,
        tdp_w=20,
        source="https://developer.nvidia.com/embedded/jetson-xavier-nx",
        unverified=unverified("fp32", "fp16", "int8", "bandwidth", "memory", "tdp"),
        remarks={"int8": "counts the DLAs as well as the GPU", "fp16": "approximate; of the GPU alone"},
        full_mode="20W",
    ),
    Accelerator(
        name="Jetson-AGX-Xavier",
        vendor="NVIDIA",
        names=("jetson-(agx-xavier|xavier-agx)(-32gb)?(-developer-kit)?",),
        row=_WITH_DLA,
        flops=tera(fp32=1.41, fp16=11, int8=32),
        bandwidth_b_s=136.5e9,
        memory_gib=32,
        tdp_w=30,
        source="https://developer.nvidia.com/embedded/jetson-agx-xavier-developer-kit",
        unverified=unverified("fp32", "fp16", "int8", "bandwidth", "memory", "tdp"),
        remarks={"int8": "counts the DLAs; the GPU alone does 22 TOPS"},
        full_mode="MAXN",
    ),
    Accelerator(
        name="Jetson-Orin-Nano-8GB",
        vendor="NVIDIA",
        names=(f"jetson-orin-nano-8gb{_KIT}",),
        families=(f"jetson-orin-nano{_KIT}",),
        row="1 module",
        flops=tera(fp32=1.28, bf16=10, fp16=10, int8=20),
        bandwidth_b_s=68e9,
        memory_gib=8,
        tdp_w=15,
        source=_MODULES,
        unverified=unverified("fp32", "bf16", "fp16"),
        remarks={"bf16": _HALF_OF_INT8, "fp16": _HALF_OF_INT8},
        beyond=("super", "25w"),
        full_mode="15W",
    ),
    Accelerator(
        name="Jetson-Orin-NX-16GB",
        vendor="NVIDIA",
        names=(f"jetson-orin-nx-16gb{_KIT}",),
        families=(f"jetson-orin-nx{_KIT}",),
        row=_WITH_DLA,
        flops=tera(fp32=1.88, bf16=12.5, fp16=12.5, int8=50),
        bandwidth_b_s=102.4e9,
        memory_gib=16,
        tdp_w=25,
        source=_MODULES,
        unverified=unverified("fp32", "bf16", "fp16", "int8", "bandwidth", "memory", "tdp"),
        remarks={
            "bf16": _HALF_OF_INT8,
            "fp16": _HALF_OF_INT8,
            "int8": "counts the DLAs; the GPU alone does about half",
        },
        beyond=("super", "40w"),
        full_mode="MAXN",
    ),
    Accelerator(
        name="Jetson-AGX-Orin-64GB",
        vendor="NVIDIA",
        names=(f"jetson-(agx-orin|orin-agx)-64gb{_KIT}",),
        families=(f"jetson-(agx-orin|orin-agx){_KIT}",),
        row=_WITH_DLA,
        flops=tera(fp32=5.3, bf16=42.5, fp16=42.5, int8=137.5),
        bandwidth_b_s=204.8e9,
        memory_gib=64,
        tdp_w=60,
        source=_MODULES,
        unverified=unverified("fp32", "bf16", "fp16"),
        remarks={
            "bf16": _HALF_OF_INT8,
            "fp16": _HALF_OF_INT8,
            "int8": "counts the DLAs; the GPU alone does 85 TOPS",
        },
        full_mode="MAXN",
    ),
)
