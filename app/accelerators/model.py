"""One accelerator as its maker states it.

Peaks are *dense*: makers' headlines often count the zeros of structured sparsity as work, twice the number here.
Makers' GB of device memory are GiB (an "80 GB" device shows 81 559 MiB); their GB/s and TFLOPS are decimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8")
"""Dtypes that a peak may be known of. A multiply-add is two operations in each, integer ones too."""

OTHER_FIGURES = ("bandwidth", "memory", "tdp")

GIB = 2**30
Checked = Literal["yes", "partly", "no"]

_ALIASES = {
    "float64": "fp64",
    "double": "fp64",
    "float32": "fp32",
    "float": "fp32",
    "single": "fp32",
    "tfloat32": "tf32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8": "fp8",
    "float8_e4m3": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "i8": "int8",
    "s8": "int8",
}
"""Spellings of dtypes by frameworks."""


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """A model of accelerator; figures are those of one `row`, which may show as several devices.

    Attributes:
        name: what it is called here.
        vendor: who makes it.
        names: patterns of the names that vendors' tools and device classes have for it, in the form of
            `lookup.plain_name`; a name must match as a whole.
        families: patterns of names that leave the memory unsaid and so fit several models.
        row: what the figures are of.
        part: one of the devices that programs see, where a row shows as several.
        parts: in how many devices a row shows; the usual number first.
        cores: cores of a row in the counting of its maker's tools, where that tells a row from a part of it.
        flops: dense peaks by dtype [FLOP/s].
        bandwidth_b_s: peak of the device memory [B/s].
        memory_gib: device memory as stated [GiB].
        tdp_w: power that it is made for [W]; always that of a row, as parts share it. None where it is not published.
        source: address of the page or data sheet with the figures.
        unverified: figures that were not compared with the source: dtypes, `bandwidth`, `memory`, `tdp`.
        remarks: what to know of single figures, by figure.
        full_mode: the word of the power mode that the peaks hold in; empty for a device without such modes.
        beyond: words of the power modes in which the device is faster than these figures.
    """

    name: str
    vendor: str
    names: tuple[str, ...]
    families: tuple[str, ...] = ()
    row: str = "1 GPU"
    part: str = ""
    parts: tuple[int, ...] = (1,)
    cores: int | None = None
    flops: Mapping[str, float]
    bandwidth_b_s: float
    memory_gib: float
    tdp_w: float | None
    source: str
    unverified: frozenset[str] = frozenset()
    remarks: Mapping[str, str] = field(default_factory=dict)
    full_mode: str = ""
    beyond: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of the figures that there are."""
        others = [name for name in OTHER_FIGURES if name != "tdp" or self.tdp_w is not None]
        return (*self.flops, *others)

    @property
    def checked(self) -> Checked:
        """Whether the figures were compared with the source."""
        if not self.unverified:
            return "yes"
        return "no" if self.unverified >= set(self.figures) else "partly"


def tera(**figures: float) -> Mapping[str, float]:
    """Return peaks [FLOP/s] from the TFLOPS or TOPS that makers state."""
    return MappingProxyType({dtype: value * 1e12 for dtype, value in figures.items()})


def unverified(*figures: str) -> frozenset[str]:
    """Return names of figures as the set that an entry wants."""
    return frozenset(figures)


def dtype_name(dtype: str) -> str | None:
    """Return the name in `DTYPES` for how frameworks spell a dtype (`torch.bfloat16`); None for one not known."""
    spelled = dtype.strip().lower().rpartition(".")[2]
    known = _ALIASES.get(spelled, spelled)
    return known if known in DTYPES else None
