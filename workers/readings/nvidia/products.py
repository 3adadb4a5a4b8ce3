"""What every source of NVIDIA devices shares: a name for the class of devices, and words for modes and clocks.

The names of products are those that the driver gives (`nvmlDeviceGetName`); they differ between its versions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

KIND = "nvidia"

BRANDS = frozenset("nvidia tesla geforce quadro gpu generation edition with design".split())
"""Words of a product's name that tell no product from another."""

FORM = re.compile(r"sxm\d*|pcie|nvl")
SIZE = re.compile(r"(\d+)gb|(\d{2,})g")
MEMORY_TYPE = re.compile(r"hbm\d\w*")
GIB = 2**30


class Variant(NamedTuple):
    """What a name leaves unsaid: the form, and the memory [GB], None where the memory's size has to tell it."""

    form: str
    memory_gb: int | None


VARIANTS: dict[tuple[str, str], Variant] = {
    ("a100", "sxm"): Variant("sxm4", None),
    ("h100", ""): Variant("sxm5", None),
    ("h100", "nvl"): Variant("nvl", 94),
    ("h100", "pcie"): Variant("pcie", 80),
    ("h200", ""): Variant("sxm5", 141),
    ("h200", "nvl"): Variant("nvl", 141),
    ("h800", ""): Variant("sxm5", 80),
    ("h800", "pcie"): Variant("pcie", 80),
}
"""Chips that are sold in several forms or sizes of which the driver's name tells one, by chip and the form in the name.

`NVIDIA H100 80GB HBM3` and `NVIDIA H200` are the SXM5 modules: only the other forms are in the driver's names.
"""


def device_class(model: str | None, memory_b: int | None) -> str:
    """Return the class of a device: `nvidia-`, the chip, its form and its memory, as in `nvidia-h100-sxm5-80gb`.

    The rule: the product's name without vendor, brand and type of memory, the memory's size last. `VARIANTS` adds what
    the name leaves unsaid. `NVIDIA GeForce RTX 3080` is `nvidia-rtx-3080`, `Tesla T4` is `nvidia-t4`.

    Args:
        model: name of the product as the driver gives it; one of a MIG instance ends in `MIG` and its profile.
        memory_b: memory that the driver shows [B]; a little less than the product's.
    """
    product, _, profile = (model or "").lower().partition(" mig ")
    if profile:
        return mig_class(device_class(product, None), profile)
    words = re.findall(r"[a-z0-9]+", product)
    form = next((word for word in words if FORM.fullmatch(word)), "")
    sizes = [int(match[1] or match[2]) for word in words if (match := SIZE.fullmatch(word))]
    chip = [word for word in words if word not in BRANDS and not _tells(word)]
    variant = VARIANTS.get(("-".join(chip), form))
    if variant is not None:
        form, sizes = variant.form, sizes or _sizes(variant.memory_gb, memory_b)
    parts = [*chip, form, *(f"{size}gb" for size in sizes)]
    return "-".join(["nvidia", *(part for part in parts if part)]) if chip else "nvidia-unknown"


def _tells(word: str) -> bool:
    return any(pattern.fullmatch(word) for pattern in (FORM, SIZE, MEMORY_TYPE))


def _sizes(memory_gb: int | None, memory_b: int | None) -> list[int]:
    """Return the product's memory: the driver keeps less than one GiB of it for itself."""
    if memory_gb is None and memory_b:
        memory_gb = -(-memory_b // GIB)
    return [] if memory_gb is None else [memory_gb]


def mig_class(parent: str, profile: str | None) -> str:
    """Return the class of a MIG instance: that of its GPU, `mig` and the profile, which keeps its dot.

    `nvidia-a100-sxm4-40gb-mig-1g.5gb`; a profile with attributes, `1g.10gb+me`, ends in `1g.10gb-me`. Where the source
    tells no profile the class ends in `mig`.
    """
    words = re.findall(r"[a-z0-9.]+", (profile or "").lower())
    return "-".join([parent, "mig", *words])


def partition_mode(mig: str | None) -> str | None:
    """Return `enabled` or `disabled` for a MIG mode as NVIDIA writes it; None where the device has none to tell."""
    word = (mig or "").strip().lower()
    return word if word in ("enabled", "disabled") else None


def mode_text(partition: str | None, policy: str | None = None) -> str | None:
    """Return what a tick's `mode` says: `mig enabled`, or `mig disabled, locked`; None where neither part is known."""
    parts = [f"mig {partition}" if partition else None, policy]
    return ", ".join(part for part in parts if part) or None


def clock_policy(
    app_sm_hz: float | None, default_app_sm_hz: float | None, *, locked: bool | None = None
) -> str | None:
    """Return how the clocks are chosen: `locked`, `application`, `automatic`, or None where that cannot be known.

    Args:
        app_sm_hz: clock of the compute cores that applications ask for [Hz].
        default_app_sm_hz: the same as delivered [Hz].
        locked: whether the clock is locked to a range; None where the source does not tell, and no tool of the
            vendor's prints it.
    """
    if locked:
        return "locked"
    if app_sm_hz is not None and default_app_sm_hz is not None and app_sm_hz != default_app_sm_hz:
        return "application"
    return "automatic" if locked is False else None
