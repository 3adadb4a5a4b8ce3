"""What every source of AMD devices shares: a name for the class of devices, and words for modes, clocks and throttling.

Names of products are those of amd-smi, of the kernel's `product_name`, of libdrm's `amdgpu.ids` and of the PCI id list,
which all differ. Bits of the driver's `indep_throttle_status` are `SMU_THROTTLER_*` of the kernel's `amdgpu_smu.h`.
"""

from __future__ import annotations

import re

from workers.readings.quantities import quantity
from workers.readings.record import slug

KIND = "amd"

INSTINCT = re.compile(r"\bmi(\d{2,3}[a-z]?)(?:-o)?\b(?:\s+(\d+)\s*gb)?(?:\s+(hf|vf)\b)?")
RADEON = re.compile(r"\b(radeon|firepro)\b.*\d|\brx\s*\d|\bradeon vii\b")
NOISE = re.compile(r"\(tm\)|\(r\)|advanced micro devices,?( inc\.?)?|\bamd\b|\bati\b|\bseries\b")
UNTOLD = frozenset(("", "n/a", "na", "none", "unknown", "null", "unsupported", "not supported"))

PRODUCTS: dict[tuple[int, int | None], str] = {
    (0x66A1, 0x06): "Radeon Pro VII",
    (0x66AF, 0xC1): "Radeon VII",
    (0x738C, None): "Instinct MI100",
    (0x7408, None): "Instinct MI250X",
    (0x740F, None): "Instinct MI210",
    (0x74A0, None): "Instinct MI300A",
    (0x74A1, None): "Instinct MI300X",
    (0x74A2, None): "Instinct MI308X",
    (0x74A5, None): "Instinct MI325X",
    (0x74A9, None): "Instinct MI300X HF",
    (0x74B5, None): "Instinct MI300X VF",
    (0x75A0, None): "Instinct MI350X",
    (0x75A3, None): "Instinct MI355X",
    (0x73A3, None): "Radeon PRO W6800",
    (0x73A5, 0xC0): "Radeon RX 6950 XT",
    (0x73BF, 0xC0): "Radeon RX 6900 XT",
    (0x73BF, 0xC1): "Radeon RX 6800 XT",
    (0x73BF, 0xC3): "Radeon RX 6800",
    (0x73DF, 0xC0): "Radeon RX 6750 XT",
    (0x73DF, 0xC1): "Radeon RX 6700 XT",
    (0x73DF, 0xC5): "Radeon RX 6700 XT",
    (0x73DF, 0xDF): "Radeon RX 6700",
    (0x73DF, 0xFF): "Radeon RX 6700",
    (0x73EF, 0xC1): "Radeon RX 6650 XT",
    (0x73FF, 0xC1): "Radeon RX 6600 XT",
    (0x73FF, 0xC7): "Radeon RX 6600",
    (0x7448, None): "Radeon PRO W7900",
    (0x744A, None): "Radeon PRO W7900 Dual Slot",
    (0x744C, 0xC8): "Radeon RX 7900 XTX",
    (0x744C, 0xCC): "Radeon RX 7900 XT",
    (0x744C, 0xCE): "Radeon RX 7900 GRE",
    (0x745E, None): "Radeon PRO W7800",
    (0x747E, 0xC8): "Radeon RX 7800 XT",
    (0x747E, 0xFF): "Radeon RX 7700 XT",
    (0x7480, 0xC0): "Radeon RX 7600 XT",
    (0x7480, 0xCF): "Radeon RX 7600",
    (0x7550, 0xC0): "Radeon RX 9070 XT",
    (0x7550, 0xC2): "Radeon RX 9070 GRE",
    (0x7550, 0xC3): "Radeon RX 9070",
    (0x7551, 0xC0): "Radeon AI PRO R9700",
    (0x7590, 0xC0): "Radeon RX 9060 XT",
    (0x1586, 0xC1): "Radeon 8060S",
    (0x1586, 0xC2): "Radeon 8050S",
}
"""Products by PCI device id and revision (None: whatever the revision), where the ids leave no choice.

Facts from libdrm's `data/amdgpu.ids`; only devices on which models are trained or served, others have their names.
"""

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""Transfer rate of a PCIe lane [GT/s] -> generation."""

THROTTLERS: dict[range, str] = {
    range(0, 8): "ppt",
    range(16, 24): "current_limit",
    range(32, 38): "thermal",
    range(38, 42): "vr_thermal",
    range(42, 44): "thermal",
    range(44, 46): "vr_thermal",
    range(46, 48): "prochot",
    range(56, 57): "platform_limit",
    range(57, 58): "reliability",
}
"""Bits of `indep_throttle_status` -> reason: power, current, temperature, voltage regulators, PROCHOT, PPM, FIT."""

VIOLATIONS = ("prochot", "ppt", "socket_thermal", "vr_thermal", "hbm_thermal")
"""Reasons that MI300 and later count residency for, as amd-smi names them."""

POLICIES = {"auto": "automatic"}


def told(value: object) -> str | None:
    """Return a word that a source tells, or None for N/A in all its forms, and for what was taken out: `<redacted>`."""
    text = "" if value is None or isinstance(value, dict | list) else str(value).strip()
    return None if text.lower() in UNTOLD or re.fullmatch(r"<[^<>]*>", text) else text


def hexadecimal(value: object) -> int | None:
    """Return an id that is written in hexadecimal, with or without `0x`."""
    text = told(value)
    return int(text, 16) if text and re.fullmatch(r"(0[xX])?[0-9a-fA-F]+", text) else None


def device_class(
    model: str | None,
    *,
    device_id: int | None = None,
    revision: int | None = None,
    partition: str | None = None,
) -> str:
    """Return the class of a device: `amd-` and the product, as in `amd-mi300x`, `amd-rx-6700-xt`.

    The rule: the product's number for Instinct; for Radeon the name without vendor and, before RX, without brand. Where
    the name is that of a chip or of several products, the ids decide if they are known. A part of a divided device has
    its mode at the end, `amd-mi300x-cpx-nps4`.

    Args:
        model: name of the product as the source gives it.
        device_id: PCI device id.
        revision: PCI revision.
        partition: as `partition_mode` returns it.
    """
    name = _product(model)
    if not _is_product(name):
        device_id = device_id or (hexadecimal(name) if name.startswith("0x") else None)
        known = PRODUCTS.get((device_id or 0, revision)) or PRODUCTS.get((device_id or 0, None))
        name = _product(known) or name
    words = slug(_market_name(name)) if name else "unknown"
    return "-".join(["amd", words, *_divided(partition)])


def _product(model: str | None) -> str:
    """Return the name that counts in lower case: what stands in brackets, where a chip's name stands before them."""
    text = (told(model) or "").lower()
    inner = re.search(r"\[([^\[\]]*(?:radeon|instinct|firepro)[^\[\]]*)\]", text)
    return " ".join(NOISE.sub(" ", inner[1] if inner else text).split())


def _is_product(name: str) -> bool:
    """Return whether a name says which product it is, and no more than one."""
    return "/" not in name and bool(INSTINCT.search(name) or RADEON.search(name))


def _market_name(name: str) -> str:
    instinct = INSTINCT.search(name) if "/" not in name else None
    if instinct is not None:
        number, memory_gb, variant = instinct.groups()
        return " ".join(word for word in (f"mi{number}", memory_gb and f"{memory_gb}gb", variant) if word)
    plain = re.sub(r"\b(?:radeon )?instinct\b|\bradeon (?=rx\b)", "", name)
    return re.sub(r"\bgraphics\b", "", plain) if re.search(r"\d", plain) else plain


def _divided(partition: str | None) -> list[str]:
    """Return the parts of a class that say how a device is divided; none where it is whole."""
    words = (partition or "").lower().split("/")
    return [word for word in words if word not in ("", "spx", "nps1", "disabled")]


def partition_mode(compute: object, memory: object) -> str | None:
    """Return how a device is divided: `SPX/NPS1`, or the compute partition alone where the memory's is not told."""
    parts = [text.rstrip("*").upper() for text in (told(compute), told(memory)) if text]
    return "/".join(parts) if told(compute) else None


def clock_policy(level: object, profile: object = None) -> str | None:
    """Return how the clocks are chosen: `automatic`, or AMD's word for a forced performance level.

    A power profile other than the one at boot is added: `automatic, COMPUTE`.

    Args:
        level: `auto`, `AMDSMI_DEV_PERF_LEVEL_AUTO`, `profile_peak` and so on.
        profile: name of the power profile.
    """
    word = told(level)
    if word is None:
        return None
    word = re.sub(r"^(amdsmi|rsmi)_dev_perf_level_", "", word.lower())
    name = told(profile)
    return ", ".join(
        part
        for part in (POLICIES.get(word, word), name if name not in (None, "BOOTUP_DEFAULT") else None)
        if part
    )


def mode_text(partition: str | None, policy: str | None) -> str | None:
    """Return what a tick's `mode` says, `SPX/NPS1, automatic`; None where neither part is known."""
    return ", ".join(part for part in (partition, policy) if part) or None


def pci_address(value: object) -> str | None:
    """Return a place on the PCI bus as domain:bus:device.function in lower case; None for what is none."""
    match = re.fullmatch(
        r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])", (told(value) or "").lower()
    )
    return f"{match[1] or '0000'}:{match[2]}:{match[3]}.{match[4]}" if match else None


def pcie_gen(value: object) -> int | None:
    """Return the generation for a lane's transfer rate: `16.0 GT/s PCIe`, 16, `16000 MT/s`, `Gen 4`."""
    if isinstance(value, dict):
        return pcie_gen(f"{value.get('value')} {value.get('unit') or ''}")
    text = told(value) or ""
    if match := re.fullmatch(r"gen\s*(\d)", text, re.IGNORECASE):
        return int(match[1])
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(GT/s|MT/s|)(?: PCIe)?", text)
    if match is None:
        return None
    rate = float(match[1])
    return GENERATIONS.get(rate / 1000 if match[2] == "MT/s" or (not match[2] and rate >= 1000) else rate)


def numa_node(value: object) -> int | None:
    """Return the number of a NUMA node; None for a machine that has none (-1)."""
    number = quantity(value)
    return int(number) if number is not None and 0 <= number < 0xFFFF else None


def graphics_target(version: int | None) -> str | None:
    """Return the name of an instruction set for KFD's `gfx_target_version`: 90402 is gfx942, 90010 is gfx90a."""
    if not version:
        return None
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}"


def throttlers(status: int) -> list[str]:
    """Return the names of the bits of `indep_throttle_status`, each once; one without a name by its number."""
    bits = [place for place in range(status.bit_length()) if status >> place & 1]
    names = [
        next((name for places, name in THROTTLERS.items() if bit in places), hex(1 << bit)) for bit in bits
    ]
    return list(dict.fromkeys(names))
