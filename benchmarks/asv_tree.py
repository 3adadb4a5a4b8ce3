"""A tree of asv results as years of a project leave it: a file a commit, with parameters, and a few that failed."""

from __future__ import annotations

import json
import random
from pathlib import Path

MACHINE = {
    "arch": "x86_64",
    "cpu": "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz",
    "machine": "bench-1",
    "num_cpu": "28",
    "os": "Linux 5.15",
    "ram": "131072000",
    "version": 1,
}
COLUMNS = [
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
]
BEGIN_MS, DAY_MS = 1_500_000_000_000, 86_400_000
YEARS = 5
PARAMS = ["10", "1000", "'float32'"]


def make_tree(folder: Path, *, files: int, benchmarks: int, seed: int = 1) -> int:
    """Write the tree with one result file a commit, spread over five years; return how many numbers it holds.

    Every tenth benchmark has three cases; one in fifty results is null or NaN.
    """
    draw = random.Random(seed)
    names = [f"suite_{i % 7}.TimeSuite{i % 7}.time_operation_{i}" for i in range(benchmarks)]
    known = {name: _benchmark(name, has_params=i % 10 == 0) for i, name in enumerate(names)}
    machine = folder / MACHINE["machine"]  # type: ignore[operator]
    machine.mkdir(parents=True)
    (folder / "benchmarks.json").write_text(json.dumps(known | {"version": 2}))
    (machine / "machine.json").write_text(json.dumps(MACHINE))
    levels = {name: 10 ** draw.uniform(-6, -1) for name in names}
    step_ms = YEARS * 365 * DAY_MS // files
    n_numbers = 0
    for number in range(files):
        sha = f"{draw.getrandbits(160):040x}"
        results = {name: _row(known[name], levels[name], draw) for name in names}
        n_numbers += sum(
            type(value) is float and value == value for row in results.values() for value in row[0]
        )
        document = {
            "commit_hash": sha,
            "env_name": "virtualenv-py3.8-numpy",
            "date": BEGIN_MS + number * step_ms,
            "params": MACHINE | {"python": "3.8"},
            "python": "3.8",
            "requirements": {"numpy": ""},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": results,
            "durations": {"<build>": 21.3},
            "version": 2,
        }
        (machine / f"{sha[:8]}-virtualenv-py3.8-numpy.json").write_text(json.dumps(document))
    return n_numbers


def _benchmark(name: str, *, has_params: bool) -> dict[str, object]:
    return {
        "name": name,
        "type": "time",
        "unit": "seconds",
        "param_names": ["n"] if has_params else [],
        "params": [PARAMS] if has_params else [],
        "version": "1",
    }


def _row(benchmark: dict[str, object], level: float, draw: random.Random) -> list[object]:
    n = len(PARAMS) if benchmark["params"] else 1
    values = [_value(level, draw) for _ in range(n)]
    spread = [[None if v is None or v != v else v * (1 + share) for v in values] for share in (-0.02, 0.02)]
    return [values, benchmark["params"], "1", BEGIN_MS, 1.2, *spread, *spread]


def _value(level: float, draw: random.Random) -> float | None:
    if draw.random() < 0.02:
        return draw.choice([None, float("nan")])
    return level * draw.lognormvariate(0, 0.02)
