"""From what a vendor's tool calls a device to figures of it, or to the reason why there are none.

A name must match an entry as a whole: a GH200 is no H200, an A10 no A10G. What is not listed, what a name leaves open,
and a share of a device (a MIG instance, a compute partition, a virtual GPU) give no figures and a hint; a peak is never
taken from a neighbour, and never divided by a number that nobody stated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from app.accelerators.catalogue import ACCELERATORS
from app.accelerators.model import DTYPES, GIB, Accelerator, dtype_name
from app.domain.derived import Given

_NOISE = frozenset(
    "nvidia tesla amd instinct google cloud aws amazon neuron gpu accelerator corporation tm r".split()
)
"""Words that vendors put into names and that tell no model from another."""

_VIRTUAL = re.compile(r"(grid|vgpu)-.*|.*-\d+[abcq]|.*-vf")
"""Names of virtual GPUs (`GRID T4-16Q`, `NVIDIA A40-48Q`) and virtual functions (`AMD Instinct MI300X VF`)."""

_DIVIDED = frozenset("mig enabled dpx tpx qpx cpx".split())
"""Words of partition modes in which a device is a part of what its name says."""

_LEAST_SHOWN, _MOST_SHOWN = 0.85, 1.02
"""A device shows up to 15 % less memory than is stated for it (for error correction, firmware, a Jetson's kernel)."""

_LIKE_ENOUGH = 0.65


@dataclass(frozen=True)
class Figures:
    """What is known of one device; figures that there are not are `Given` without a value that say why.

    `accelerator` is None where no entry fits, and `hint` says why. `parts` is how many such devices make the row that
    the entry's figures are of. `notes` are sentences that belong beside every figure.
    """

    asked: str
    accelerator: Accelerator | None
    parts: int = 1
    hint: str = ""
    notes: tuple[str, ...] = ()

    def peak(self, dtype: str) -> Given:
        """Return the dense peak of `dtype`, by its name here or a framework's [FLOP/s]."""
        known = dtype_name(dtype)
        if known is None:
            return Given(
                None, "FLOP/s", f'"{dtype}" is none of the dtypes that peaks are kept by: {", ".join(DTYPES)}'
            )
        return self._given(known, "FLOP/s", lambda entry: entry.flops.get(known), is_shared=True)

    def peaks(self) -> dict[str, Given]:
        """Return every dense peak that is known, by dtype [FLOP/s]."""
        return {dtype: self.peak(dtype) for dtype in (self.accelerator.flops if self.accelerator else ())}

    def bandwidth(self) -> Given:
        """Return the peak of the device memory [B/s]."""
        return self._given("bandwidth", "B/s", lambda entry: entry.bandwidth_b_s, is_shared=True)

    def memory(self) -> Given:
        """Return the device memory as it is stated [B]."""
        return self._given("memory", "B", lambda entry: entry.memory_gib * GIB, is_shared=True)

    def tdp(self) -> Given:
        """Return the power that the device is made for [W]; parts of a module share it, so that it is never divided."""
        return self._given("tdp", "W", lambda entry: entry.tdp_w, is_shared=False)

    def _given(
        self, figure: str, unit: str, read: Callable[[Accelerator], float | None], *, is_shared: bool
    ) -> Given:
        entry = self.accelerator
        if entry is None:
            return Given(None, unit, self.hint)
        value = read(entry)
        if value is None:
            what = {"tdp": "design power"}.get(figure, f"{figure} peak")
            return Given(None, unit, f"no {what} of the {entry.name} is listed ({entry.source})")
        parts = self.parts if is_shared else 1
        return Given(value / parts, unit, self._origin(entry, figure, parts), figure not in entry.unverified)

    def _origin(self, entry: Accelerator, figure: str, parts: int) -> str:
        of_what = f"1/{parts} of {entry.row}, as {entry.part}" if parts > 1 else entry.row
        said = [f"{entry.name} ({of_what}), {entry.source}", entry.remarks.get(figure, ""), *self.notes]
        if figure in entry.unverified:
            said.insert(1, "not verified")
        return "; ".join(part for part in said if part)


class _Fitting(NamedTuple):
    """Entries that a name may mean, and what to say where they are not exactly one."""

    entries: list[Accelerator]
    otherwise: str


def figures_of(
    *names: str | None,
    memory_b: float | None = None,
    cores: int | None = None,
    partition: str | None = None,
    power_mode: str | None = None,
) -> Figures:
    """Return the figures of a device, or why there are none.

    Args:
        names: what the device is called: the model as its vendor's tool writes it, then its class; the first that
            settles it counts.
        memory_b: memory that the device shows [B]. It settles which of several sizes it is and whether it is a row of
            the catalogue or a part of one, and refuses a name that it contradicts.
        cores: cores of the device as its vendor's tool counts them; settles row or part where the memory does not.
        partition: how the device is divided, in its vendor's word; None and `disabled` for not at all.
        power_mode: name of the board's power mode, for devices that have such modes.
    """
    plain = [name for name in map(plain_name, names) if name]
    asked = next((name for name in names if name), "") or ""
    if not plain:
        return Figures(asked, None, hint="what the device is has not been told")
    if divided := _divided(plain, partition):
        share = "its share of the whole device's peak is not stated"
        return Figures(asked, None, hint=f'"{asked}" is {divided}; {share}')
    fittings = [fitting for name in plain if (fitting := _fitting(name, memory_b))]
    found = [_settled(asked, fitting, memory_b, cores, power_mode) for fitting in fittings]
    if not found:
        return Figures(asked, None, hint=f'no peak figures are listed for "{asked}"{_near(tuple(plain))}')
    return next((figures for figures in found if figures.accelerator), found[0])


def plain_name(name: str | None) -> str:
    """Return a name in the form that entries are written in: `a100-sxm4-40gb` for `NVIDIA A100-SXM4-40GB`."""
    words = re.findall(r"[a-z0-9]+", (name or "").lower())
    return "-".join(word for word in words if word not in _NOISE)


def _divided(plain: Iterable[str], partition: str | None) -> str:
    """Return in words that the device is a share of one; nothing where it is whole."""
    if any("mig" in name.split("-") for name in plain):
        return "a MIG instance"
    if any(_VIRTUAL.fullmatch(name) for name in plain):
        return "a virtual GPU"
    if _DIVIDED & set(plain_name(partition).split("-")):
        return f"divided (partition mode {partition})"
    return ""


def _fitting(name: str, memory_b: float | None) -> _Fitting | None:
    """Return the entries of that name, or else those whose names leave the memory unsaid in the same way."""
    exact, alike = _named(name)
    entries = exact or alike
    if not entries:
        return None
    names = " or ".join(entry.name for entry in entries)
    if memory_b is not None:
        left = [entry for entry in entries if _parts_by_memory(entry, memory_b)]
        return _Fitting(left, f"its name says {names}, but its memory of {memory_b / GIB:.4g} GiB does not")
    open_ = f"its name leaves the memory unsaid, and nothing else tells that it is the {names}"
    return _Fitting(exact, open_)


@lru_cache(maxsize=1_000)
def _named(name: str) -> tuple[list[Accelerator], list[Accelerator]]:
    """Return the entries that a name means, and those whose family it names."""
    return _matching(name, lambda entry: entry.names), _matching(name, lambda entry: entry.families)


def _matching(name: str, patterns: Callable[[Accelerator], tuple[str, ...]]) -> list[Accelerator]:
    return [
        entry
        for entry in ACCELERATORS.values()
        if any(re.fullmatch(pattern, name) for pattern in patterns(entry))
    ]


def _settled(
    asked: str, fitting: _Fitting, memory_b: float | None, cores: int | None, power_mode: str | None
) -> Figures:
    if len(fitting.entries) != 1:
        return Figures(asked, None, hint=fitting.otherwise)
    entry = fitting.entries[0]
    mode = set(plain_name(power_mode).split("-"))
    if mode & set(entry.beyond):
        return Figures(
            asked, None, hint=f"figures of the {entry.name} are not listed for the power mode {power_mode}"
        )
    parts, note = _parts(entry, memory_b, cores)
    if parts is None:
        return Figures(asked, None, hint=note)
    return Figures(
        asked, entry, parts, notes=tuple(filter(None, (note, _mode_note(entry, mode, power_mode))))
    )


def _parts(entry: Accelerator, memory_b: float | None, cores: int | None) -> tuple[int | None, str]:
    """Return how many such devices make a row, and what to know of it."""
    if entry.parts == (1,):
        return 1, ""
    if memory_b is not None:
        return _parts_by_memory(entry, memory_b), ""
    if cores is None:
        return entry.parts[
            0
        ], f"taken for {entry.part} of a {entry.name}, as neither memory nor cores are known"
    for parts in (1, *entry.parts):
        if cores * parts == entry.cores:
            return parts, ""
    return None, f"{cores} cores are neither {entry.row} ({entry.name}) nor {entry.part} of it"


def _parts_by_memory(entry: Accelerator, memory_b: float) -> int | None:
    """Return how many devices of that memory make a row; None where it is neither a row's nor a part's."""
    for parts in sorted({1, *entry.parts}):
        shown = memory_b * parts / (entry.memory_gib * GIB)
        if _LEAST_SHOWN <= shown <= _MOST_SHOWN:
            return parts
    return None


def _mode_note(entry: Accelerator, mode: set[str], power_mode: str | None) -> str:
    """Return that the board is not in the mode that its peaks hold in, or may not be."""
    if not entry.full_mode or entry.full_mode.lower() in mode:
        return ""
    now = f"runs in {power_mode}" if power_mode else "does not tell its power mode"
    return f"the peak holds in power mode {entry.full_mode}; the device {now}"


@lru_cache(maxsize=1_000)
def _near(plain: tuple[str, ...]) -> str:
    """Return the listed models whose names are like the given ones."""
    listed: dict[str, list[str]] = {}
    for name in ACCELERATORS:
        listed.setdefault(_chip(plain_name(name)), []).append(name)
    near = [
        match for name in plain for match in get_close_matches(_chip(name), listed, n=3, cutoff=_LIKE_ENOUGH)
    ]
    names = list(dict.fromkeys(name for match in near for name in listed[match]))[:4]
    return f"; the nearest that are: {', '.join(names)}" if names else ""


def _chip(plain: str) -> str:
    """Return the word that names the chip, `h200` of `h200-sxm5-141gb`; the whole name where there is none."""
    words = (word for word in plain.split("-") if re.fullmatch(r"[a-z]+\d+[a-z]*", word))
    return next(words, plain)
