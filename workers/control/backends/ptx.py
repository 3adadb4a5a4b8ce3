"""The kernels that NVIDIA devices run, as text that the driver itself compiles: no compiler and no library is needed.

Every kernel is exact: its launch covers the data with whole blocks, so that there are no bounds to test, no shared
memory and no barriers. Numbers that a thread loads at once lie together, which decides how the factors are stored: the
bf16 product is a · bᵀ, the fp32 product aᵀ · b, of matrices that lie row by row.

Source of the format: NVIDIA, Parallel Thread Execution ISA, there for the order of numbers within `mma` the section
"Matrix Fragments for mma.m16n8k16 with floating point type".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

THREADS = 128
"""In a block of a product."""
BF16_BLOCK = 128
"""Rows, and columns, of the bf16 product that one block makes."""
FP32_BLOCK_ROWS, FP32_BLOCK_COLUMNS = 64, 128
"""The same of the fp32 product."""
TRIAD_THREADS = 256
TRIAD_FLOATS = 4
"""Numbers that one thread of `triad` makes."""

_DOWN, _ACROSS = 4, 8
"""Tiles of 16 x 8 in the 64 x 64 of the bf16 product that a warp makes."""
_DEPTH = 32
"""How far along the inner dimension one round of loads reaches, in bf16."""
_PATCH = 8
"""Rows, and columns, of the fp32 product that one thread makes."""

_BASE = ("6.0", "sm_50")
_MATRIX_UNITS = ("7.0", "sm_80")


def basic_module() -> str:
    """Return the kernels that every device can run: `empty` and `triad`."""
    return _module(_BASE, [empty(), triad()])


def gemm_fp32_module(n: int) -> str:
    """Return `gemm_fp32` for square matrices of `n` rows, a multiple of 128."""
    return _module(_BASE, [gemm_fp32(n, n, n)])


def gemm_bf16_module(n: int) -> str:
    """Return `gemm_bf16` for square matrices of `n` rows, a multiple of 128; it needs compute capability 8.0."""
    return _module(_MATRIX_UNITS, [gemm_bf16(n, n, n)])


def empty() -> str:
    """Return a kernel that does nothing."""
    return _kernel("empty", {}, [], TRIAD_THREADS, ["ret;"])


def triad() -> str:
    """Return the kernel out = left + scale · right on fp32; its grid has one block for each 1024 numbers."""
    pointers = ("out", "left", "right")
    registers = [
        ".reg .b32 %thread, %block, %index;",
        ".reg .b64 %offset, %out, %left, %right;",
        f".reg .f32 %scale, {_words('%x', TRIAD_FLOATS)}, {_words('%y', TRIAD_FLOATS)};",
    ]
    body = [
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        f"mad.lo.u32 %index, %block, {TRIAD_THREADS}, %thread;",
        f"mul.wide.u32 %offset, %index, {4 * TRIAD_FLOATS};",
        "ld.param.f32 %scale, [scale];",
        *_pointers(pointers),
        *(f"add.u64 %{name}, %{name}, %offset;" for name in pointers),
        f"ld.global.v4.f32 {{{_words('%x', 4)}}}, [%left];",
        f"ld.global.v4.f32 {{{_words('%y', 4)}}}, [%right];",
        *(f"fma.rn.f32 %x{i}, %scale, %y{i}, %x{i};" for i in range(TRIAD_FLOATS)),
        f"st.global.v4.f32 [%out], {{{_words('%x', 4)}}};",
        "ret;",
    ]
    parameters = {**dict.fromkeys(pointers, "u64"), "scale": "f32"}
    return _kernel("triad", parameters, registers, TRIAD_THREADS, body)


def gemm_bf16(rows: int, columns: int, depth: int) -> str:
    """Return the kernel c = a · bᵀ in bf16 with fp32 sums, by the matrix units.

    a has `rows` x `depth` numbers, b `columns` x `depth`, c in fp32 `rows` x `columns`; the grid is (columns / 128,
    rows / 128). Each of a block's four warps makes 64 x 64 of c. A thread loads eight numbers along the inner
    dimension and gives the first four to one round of products and the others to the next: that takes the inner
    dimension in another order, which is the same for both factors and changes no sum.
    """
    a_words = [f"%a{row}w" for row in range(2 * _DOWN)]
    b_words = [f"%b{column}w" for column in range(_ACROSS)]
    tiles = [(down, across) for down in range(_DOWN) for across in range(_ACROSS)]
    registers = [
        ".reg .b32 %thread, %lane, %group, %warp, %row, %column, %index, %rounds;",
        ".reg .b64 %offset, %a, %b, %c;",
        *(f".reg .b32 {_words(name, 4)};" for name in (*a_words, *b_words)),
    ]
    place = [
        "and.b32 %lane, %thread, 3;",
        "shr.u32 %group, %thread, 2;",
        "and.b32 %group, %group, 7;",
        "shr.u32 %warp, %thread, 5;",
        "and.b32 %row, %warp, 1;",
        "mad.lo.u32 %row, %row, 64, %group;",
        "mov.u32 %index, %ctaid.y;",
        f"mad.lo.u32 %row, %index, {BF16_BLOCK}, %row;",
        "shr.u32 %column, %warp, 1;",
        "shl.b32 %column, %column, 6;",
        "mov.u32 %index, %ctaid.x;",
        f"mad.lo.u32 %column, %index, {BF16_BLOCK}, %column;",
    ]
    addresses = [
        *_moved("a", "%row", 2 * depth),
        *_moved("a", "%lane", 16),
        "add.u32 %index, %column, %group;",
        *_moved("b", "%index", 2 * depth),
        *_moved("b", "%lane", 16),
        *_moved("c", "%row", 4 * columns),
        *_moved("c", "%column", 4),
        *_moved("c", "%lane", 8),
    ]
    loads = [
        f"ld.global.nc.v4.b32 {{{_words(word, 4)}}}, [%{factor}+{8 * i * depth * 2}];"
        for factor, words in (("a", a_words), ("b", b_words))
        for i, word in enumerate(words)
    ]
    products = [_mma(down, across, half) for half in range(2) for down, across in tiles]
    stores = [line for down, across in tiles for line in _tile_stores(down, across, columns)]
    sums = [_sum(down, across, i) for down, across in tiles for i in range(4)]
    steps = _steps({"a": 2 * _DEPTH, "b": 2 * _DEPTH}, depth // _DEPTH, [*loads, *products])
    return _gemm("gemm_bf16", registers, sums, [*place, *_pointers("abc"), *addresses], [*steps, *stores])


def gemm_fp32(rows: int, columns: int, depth: int) -> str:
    """Return the kernel c = aᵀ · b in fp32.

    a has `depth` x `rows` numbers, b `depth` x `columns`, c `rows` x `columns`; the grid is (columns / 128, rows / 64).
    Each thread makes 8 x 8 of c.
    """
    registers = [
        ".reg .b32 %thread, %row, %column, %index, %rounds;",
        ".reg .b64 %offset, %a, %b, %c;",
        f".reg .f32 {_words('%x', _PATCH)}, {_words('%y', _PATCH)};",
    ]
    place = [
        "shr.u32 %row, %thread, 4;",
        "shl.b32 %row, %row, 3;",
        "mov.u32 %index, %ctaid.y;",
        f"mad.lo.u32 %row, %index, {FP32_BLOCK_ROWS}, %row;",
        "and.b32 %column, %thread, 15;",
        "shl.b32 %column, %column, 3;",
        "mov.u32 %index, %ctaid.x;",
        f"mad.lo.u32 %column, %index, {FP32_BLOCK_COLUMNS}, %column;",
    ]
    addresses = [
        *_moved("a", "%row", 4),
        *_moved("b", "%column", 4),
        *_moved("c", "%row", 4 * columns),
        *_moved("c", "%column", 4),
    ]
    loads = [
        f"ld.global.nc.v4.f32 {{{_words(name, 4, start)}}}, [%{factor}+{4 * start}];"
        for factor, name in (("a", "%x"), ("b", "%y"))
        for start in range(0, _PATCH, 4)
    ]
    patch = [(i, j) for i in range(_PATCH) for j in range(_PATCH)]
    products = [f"fma.rn.f32 %s{i}x{j}, %x{i}, %y{j}, %s{i}x{j};" for i, j in patch]
    stores = [
        f"st.global.v4.f32 [%c+{4 * (i * columns + start)}], {{{_words(f'%s{i}x', 4, start)}}};"
        for i in range(_PATCH)
        for start in range(0, _PATCH, 4)
    ]
    sums = [f"%s{i}x{j}" for i, j in patch]
    steps = _steps({"a": 4 * rows, "b": 4 * columns}, depth, [*loads, *products])
    return _gemm("gemm_fp32", registers, sums, [*place, *_pointers("abc"), *addresses], [*steps, *stores])


# --- parts --------------------------------------------------------------------------------------------------


def _module(made_for: tuple[str, str], kernels: Iterable[str]) -> str:
    version, target = made_for
    return "\n".join([f".version {version}", f".target {target}", ".address_size 64", *kernels, ""])


def _kernel(
    name: str, parameters: dict[str, str], registers: Iterable[str], threads: int, body: Iterable[str]
) -> str:
    """Return a kernel; `threads` is the most that a block of it may have."""
    declared = ", ".join(f".param .{kind} {parameter}" for parameter, kind in parameters.items())
    lines = (f"    {line}" for line in (*registers, *body))
    return "\n".join([f".visible .entry {name}({declared})", f".maxntid {threads}, 1, 1", "{", *lines, "}"])


def _gemm(
    name: str, registers: Sequence[str], sums: Sequence[str], first: Sequence[str], then: Sequence[str]
) -> str:
    """Return the kernel of a product: its thread's number, what comes `first`, the sums set to zero, and the rest."""
    declared = [*registers, ".reg .pred %more;", f".reg .f32 {', '.join(sums)};"]
    zeros = [f"mov.f32 {name}, 0f00000000;" for name in sums]
    body = ["mov.u32 %thread, %tid.x;", *first, *zeros, *then, "ret;"]
    return _kernel(name, dict.fromkeys("abc", "u64"), declared, THREADS, body)


def _steps(strides: dict[str, int], rounds: int, body: Sequence[str]) -> list[str]:
    """Return a loop that moves the factors' pointers on by these strides [B] after each round."""
    return [
        f"mov.u32 %rounds, {rounds};",
        "again:",
        *body,
        *(f"add.u64 %{factor}, %{factor}, {stride};" for factor, stride in strides.items()),
        "sub.u32 %rounds, %rounds, 1;",
        "setp.ne.u32 %more, %rounds, 0;",
        "@%more bra again;",
    ]


def _pointers(names: Iterable[str]) -> list[str]:
    """Return what reads these parameters into the registers of the same names."""
    return [
        line
        for name in names
        for line in (f"ld.param.u64 %{name}, [{name}];", f"cvta.to.global.u64 %{name}, %{name};")
    ]


def _moved(pointer: str, index: str, size: int) -> list[str]:
    """Return what moves a pointer on by `index` times `size` bytes."""
    return [f"mul.wide.u32 %offset, {index}, {size};", f"add.u64 %{pointer}, %{pointer}, %offset;"]


def _mma(down: int, across: int, half: int) -> str:
    """Return the product of one tile with half of what was loaded."""
    upper, lower = f"%a{2 * down}w", f"%a{2 * down + 1}w"
    first, second = 2 * half, 2 * half + 1
    a = f"{upper}{first}, {lower}{first}, {upper}{second}, {lower}{second}"
    b = f"%b{across}w{first}, %b{across}w{second}"
    sums = ", ".join(_sum(down, across, i) for i in range(4))
    return f"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{sums}}}, {{{a}}}, {{{b}}}, {{{sums}}};"


def _tile_stores(down: int, across: int, columns: int) -> list[str]:
    """Return what stores a thread's four sums of one tile: two together, and two of the row eight below."""
    places = [(16 * down + below) * columns + 8 * across for below in (0, 8)]
    pairs = [(_sum(down, across, i), _sum(down, across, i + 1)) for i in (0, 2)]
    return [
        f"st.global.v2.f32 [%c+{4 * place}], {{{left}, {right}}};"
        for place, (left, right) in zip(places, pairs, strict=True)
    ]


def _sum(down: int, across: int, i: int) -> str:
    return f"%s{down}x{across}x{i}"


def _words(name: str, count: int, start: int = 0) -> str:
    """Return `name0, name1, …`."""
    return ", ".join(f"{name}{i}" for i in range(start, start + count))
