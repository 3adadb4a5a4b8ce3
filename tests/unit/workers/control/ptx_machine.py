"""A machine for the little PTX that the kit's kernels use, so that they can be run and checked without a GPU.

It runs whole warps, each lane an element of an array, and refuses what a device would get wrong or fault on: loads
and stores that are not aligned or lie outside what was allocated, and branches that lanes do not take together.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

WARP = 32
LANES = np.arange(WARP)
Array = np.ndarray[Any, np.dtype[Any]]

INSTRUCTION = re.compile(r"^(?:@(?P<guard>%\w+) )?(?P<name>[\w.]+)(?: (?P<rest>.*))?;$")
OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*")


class Memory:
    """What was allocated on the device, by address."""

    def __init__(self) -> None:
        self._blocks: dict[int, Array] = {}
        self._next = 1 << 40

    def put(self, values: Array) -> int:
        """Copy values in and return their address; what lies between blocks belongs to nobody."""
        block = np.frombuffer(values.tobytes(), dtype=np.uint8).copy()
        address, self._next = self._next, self._next + (len(block) // 512 + 2) * 512
        self._blocks[address] = block
        return address

    def get(self, address: int, dtype: Any) -> Array:
        """Return a block as numbers."""
        return self._blocks[address].view(dtype)

    def words(self, address: int, count: int) -> Array:
        """Return a view of `count` words of four bytes."""
        assert address % (4 * count) == 0, f"{address:#x} is not aligned to {4 * count}"
        for start, block in self._blocks.items():
            if start <= address < start + len(block):
                assert address + 4 * count <= start + len(block), f"{address:#x} runs over its block's end"
                return block[address - start :][: 4 * count].view(np.uint32)
        raise AssertionError(f"nothing was allocated at {address:#x}")


class Kernel:
    """One entry of a module."""

    def __init__(self, text: str, name: str) -> None:
        entry = text.split(f".entry {name}(")[1]
        head, _, rest = entry.partition("\n{\n")
        self.parameters = dict(re.findall(r"\.param \.(\w+) (\w+)", head))
        self.parameters = {parameter: kind for kind, parameter in re.findall(r"\.param \.(\w+) (\w+)", head)}
        self.threads = int(re.search(r"\.maxntid (\d+), 1, 1", head)[1])
        lines = [line.strip() for line in rest.split("\n}")[0].splitlines()]
        self._lines = [line for line in lines if not line.startswith(".reg")]
        self._labels = {line[:-1]: at for at, line in enumerate(self._lines) if line.endswith(":")}

    def run(self, memory: Memory, grid: tuple[int, int], arguments: dict[str, Any]) -> None:
        """Run every block of a launch."""
        assert list(arguments) == list(self.parameters)
        for y in range(grid[1]):
            for x in range(grid[0]):
                for warp in range(self.threads // WARP):
                    _Warp(memory, (x, y), warp, arguments).run(self._lines, self._labels)


class _Warp:
    def __init__(self, memory: Memory, block: tuple[int, int], warp: int, arguments: dict[str, Any]) -> None:
        self._memory = memory
        self._arguments = arguments
        self._registers: dict[str, Array] = {
            "%tid.x": (LANES + warp * WARP).astype(np.uint64),
            "%ctaid.x": np.full(WARP, block[0], dtype=np.uint64),
            "%ctaid.y": np.full(WARP, block[1], dtype=np.uint64),
        }

    def run(self, lines: list[str], labels: dict[str, int]) -> None:
        at = 0
        while (line := lines[at]) != "ret;":
            at += 1
            if line.endswith(":"):
                continue
            found = INSTRUCTION.match(line)
            assert found, f"no instruction: {line}"
            guard, name, rest = found.group("guard", "name", "rest")
            if name == "bra":
                taken = self._registers[guard]
                assert taken.all() or not taken.any(), "lanes part ways"
                at = labels[rest] if taken.all() else at
            else:
                self._carry_out(name, OPERAND.findall(rest))

    def _carry_out(self, name: str, operands: list[str]) -> None:
        if name.startswith(("ld.global", "st.global")):
            self._move(name, *operands)
        elif name.startswith("ld.param"):
            self._set(operands[0], np.full(WARP, self._arguments[operands[1].strip("[]")]))
        elif name.startswith("mma."):
            self._multiply_matrices(name, *operands)
        else:
            self._registers[operands[0]] = self._computed(name, [self._value(o) for o in operands[1:]])

    def _computed(self, name: str, values: list[Any]) -> Array:
        match name:
            case "mov.u32" | "mov.f32" | "cvta.to.global.u64":
                return values[0]
            case "fma.rn.f32":
                left, right, added = (value.astype(np.float64) for value in values)
                return (left * right + added).astype(np.float32)
            case "setp.ne.u32":
                return values[0] != values[1]
            case "add.u64":
                return values[0] + values[1]
            case "mul.wide.u32":
                return values[0] * values[1]
            case "mad.lo.u32":
                return self._narrow(values[0] * values[1] + values[2])
            case "add.u32":
                return self._narrow(values[0] + values[1])
            case "sub.u32":
                return self._narrow(values[0] - values[1])
            case "and.b32":
                return values[0] & values[1]
            case "shl.b32":
                return self._narrow(values[0] << values[1])
            case "shr.u32":
                return values[0] >> values[1]
        raise AssertionError(f"unknown instruction {name}")

    def _narrow(self, value: Array) -> Array:
        assert (value < 2**32).all(), "a number of 32 bits overflows"
        return value

    def _value(self, text: str) -> Array:
        text = text.strip()
        if text.startswith("%"):
            return self._registers[text]
        if text.startswith("0f"):
            return np.full(WARP, np.uint32(int(text[2:], 16)).view(np.float32))
        return np.full(WARP, int(text), dtype=np.uint64)

    def _set(self, name: str, values: Array) -> None:
        is_number = values.dtype == np.float64
        self._registers[name.strip()] = values.astype(np.float32 if is_number else np.uint64)

    def _move(self, name: str, first: str, second: str) -> None:
        is_load = name.startswith("ld.")
        names, place = (first, second) if is_load else (second, first)
        registers = [register.strip() for register in names.strip("{}").split(",")]
        assert f".v{len(registers)}." in name
        kind = np.float32 if name.endswith(".f32") else np.uint32
        pointer, _, offset = place.strip("[]").partition("+")
        addresses = (self._registers[pointer] + np.uint64(int(offset or 0))).tolist()
        if is_load:
            words = np.array([self._memory.words(address, len(registers)) for address in addresses])
            for column, register in enumerate(registers):
                self._registers[register] = words[:, column].copy().view(kind)
        else:
            for lane, address in enumerate(addresses):
                words = [self._registers[register][lane] for register in registers]
                self._memory.words(address, len(registers))[:] = np.array(words, dtype=kind).view(np.uint32)

    def _multiply_matrices(self, name: str, *operands: str) -> None:
        assert name == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        names = [[part.strip() for part in operand.strip("{}").split(",")] for operand in operands]
        assert names[0] == names[3]
        left, right, sums = np.zeros((16, 16)), np.zeros((16, 8)), np.zeros((16, 8))
        group, lane = LANES >> 2, LANES & 3
        for i, values in enumerate(_halves(self._registers[part] for part in names[1])):
            left[group + (8 if i in (2, 3, 6, 7) else 0), 2 * lane + i % 2 + (8 if i >= 4 else 0)] = values
        for i, values in enumerate(_halves(self._registers[part] for part in names[2])):
            right[2 * lane + i % 2 + (8 if i >= 2 else 0), group] = values
        places = [(group + (8 if i >= 2 else 0), 2 * lane + i % 2) for i in range(4)]
        for place, part in zip(places, names[3], strict=True):
            sums[place] = self._registers[part]
        sums += left @ right
        for place, part in zip(places, names[0], strict=True):
            self._registers[part] = sums[place].astype(np.float32)


def _halves(registers: Any) -> list[Array]:
    """Return the two bf16 of each register, the lower one first."""
    words = [np.asarray(register, dtype=np.uint32) for register in registers]
    return [from_bf16(half) for word in words for half in (word & 0xFFFF, word >> 16)]


def from_bf16(halves: Array) -> Array:
    """Return what these 16 bits each mean."""
    return (halves.astype(np.uint32) << 16).view(np.float32)
