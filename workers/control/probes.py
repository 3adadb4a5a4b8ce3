"""What the kit measures, and in which units: names only."""

from __future__ import annotations

from typing import Final, Literal

Mode = Literal["full", "short"]

FULL: Final = ("gemm", "triad", "h2d", "d2h", "empty_launch", "host_loop")
SHORT: Final = ("gemm", "triad")
OF_MODE: Final[dict[Mode, tuple[str, ...]]] = {"full": FULL, "short": SHORT}

GEMM_BF16: Final = "gemm_bf16"
GEMM_FP32: Final = "gemm_fp32"

FLOPS: Final = "FLOP/s"
BYTES: Final = "B/s"
TIMES: Final = "1/s"


def named(probe: str, kind: str) -> str:
    """Return the name in results of a probe that gave none: a product is named after its numbers.

    Processors multiply fp32, accelerators bf16; old ones that cannot say so with their results.
    """
    if probe != "gemm":
        return probe
    return GEMM_FP32 if kind == "cpu" else GEMM_BF16
