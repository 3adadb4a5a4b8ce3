"""Over the series of one commit: how often does a commit that changes nothing in 200 series tell of a change in any?

    python -m benchmarks.one_commit [FAMILY …] [--copies N]

Flat series of every noise model grow point by point, and are examined as the service does it. A suspicion counts with
the smallest p-value that it ever has. Printed for every model: false suspicions per 1000 commits; those whose p-value
would be enough alone among 200 series; and the share of commits of 200 series that tell of any, without and with
control over the series. Takes about two seconds a series.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from multiprocessing import Pool

from app.analysis.chance import FALSE_DISCOVERY_RATE
from app.analysis.detection.incremental import begin_of_tail, examine_tail
from benchmarks.detection.generator import FAMILIES, Cell, make
from benchmarks.detection.generator import MODELS as NOISES

SERIES, POINTS, FIRST, SAME = 200, 600, 30, 5
ENOUGH = FALSE_DISCOVERY_RATE / SERIES
"""The p-value that the first of a family needs."""


def suspicions(cell: Cell) -> list[float]:
    """Return the smallest p-value of each change that is ever told of a flat series while it grows."""
    values = make(cell).values
    seen: list[tuple[int, float]] = []
    for n in range(FIRST, len(values) + 1):
        begin = begin_of_tail(n)
        for point in examine_tail(values[begin:n], begin, minimum_effect=0.005).change_points:
            near = [i for i, (index, _) in enumerate(seen) if abs(index - point.index) <= SAME]
            if near:
                index, p_value = seen[near[0]]
                seen[near[0]] = index, min(p_value, point.p_value)
            else:
                seen.append((point.index, point.p_value))
    return [p_value for _, p_value in seen]


def lines(family: str, copies: int) -> Iterator[str]:
    """Yield a line for every noise model of a family."""
    commits = copies * (POINTS + 1 - FIRST)
    with Pool() as pool:
        for noise in NOISES[family]:
            cells = [Cell(family, "flat", noise, 0.01, POINTS, copy, seed=7) for copy in range(copies)]
            found = [p_value for of_series in pool.map(suspicions, cells) for p_value in of_series]
            rates = len(found) / commits, sum(p_value <= ENOUGH for p_value in found) / commits
            shares = [1 - (1 - rate) ** SERIES for rate in rates]
            per_1000 = " ".join(f"{1000 * rate:6.2f}" for rate in rates)
            yield f"{family:<11} {noise:<36} {per_1000} {shares[0]:7.0%} {shares[1]:5.0%}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--copies", type=int, default=6)
    given = parser.parse_args()
    print(f"{'family':<11} {'noise':<36} {'/1000':>6} {'enough':>6} {'without':>7} {'with':>5}")
    for family in given.families:
        for line in lines(family, given.copies):
            print(line, flush=True)


if __name__ == "__main__":
    main()
