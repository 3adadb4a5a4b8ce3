"""`python -m benchmarks.detection`: the whole table, in under ten minutes on two cores; README.md explains it."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.detection import experiments, table
from benchmarks.detection.annotated import AnnotatedError, AnnotatedSeries, read_folder
from benchmarks.detection.comparers import COMPARERS
from benchmarks.detection.experiments import FULL, ORACLE, QUICK, Numbers, Plan
from benchmarks.detection.generator import FAMILIES
from benchmarks.detection.peers import DETECTORS, Detector, NotInstalledError, load, otava
from benchmarks.detection.workers import Workers

PARTS = ("offline", "online", "speed", "checks", "stopping")
NAMES = tuple(dict.fromkeys([*DETECTORS, ORACLE, *COMPARERS]))
GROUPS = {"peers": tuple(name for name in DETECTORS if name not in ("ours", "reference"))}
"""What `--only` takes for several names."""


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    names = f"only these: {', '.join((*NAMES, *GROUPS))}"
    parser.add_argument("--quick", action="store_true", help="fewer and shorter series: under a minute")
    parser.add_argument("--only", nargs="+", choices=(*NAMES, *GROUPS), metavar="NAME", help=names)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS, help="only these experiments")
    parser.add_argument(
        "--family", choices=FAMILIES, default="held_out", help="the noise models (default held_out)"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other series")
    parser.add_argument("--per-cell", type=int, metavar="N", help="series of each kind, model, cv and length")
    parser.add_argument(
        "--annotated",
        type=Path,
        metavar="FOLDER",
        help="F1 and covering on the real series there, nothing else",
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers there, too")
    parser.add_argument(
        "--long", action="store_true", help="also F1 by noise model, length and cv, or by annotated series"
    )
    parser.add_argument(
        "--install-peers", action="store_true", help="make Otava's own environment, then stop"
    )
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    asked = arguments()
    if asked.install_peers:
        otava.install()
        print(f"Otava is in {otava.home()}; the others come with the extra `peers`")
        return
    started = time.monotonic()
    wanted = [name for one in asked.only or NAMES for name in GROUPS.get(one, (one,))]
    try:
        printed, numbers = real(asked, wanted) if asked.annotated else generated(asked, wanted)
    except AnnotatedError as error:
        sys.exit(str(error))
    print(f"{printed}\n\n{time.monotonic() - started:.0f} s")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(finite(numbers), file, indent=1)


def generated(asked: argparse.Namespace, wanted: list[str]) -> tuple[str, dict[str, Any]]:
    """Measure on generated series and checks; return what is printed, and all numbers."""
    effort = QUICK if asked.quick else FULL
    plan = Plan(asked.family, asked.seed, replace(effort, per_cell=asked.per_cell or effort.per_cell))
    with Workers() as workers:
        found = {
            "detectors": detectors(
                workers, [n for n in (*DETECTORS, ORACLE) if n in wanted], asked.part, plan
            ),
            "comparers": checks(workers, [n for n in COMPARERS if n in wanted], asked.part, plan),
            "stopping": experiments.stopping_early(workers, plan)
            if "stopping" in asked.part and "ours" in wanted
            else None,
        }
    return report(found, plan, asked.long), {**about(plan), **found}


def real(asked: argparse.Namespace, wanted: list[str]) -> tuple[str, dict[str, Any]]:
    """Measure on annotated series; return what is printed, and all numbers."""
    series = read_folder(asked.annotated)
    with Workers() as workers:
        found = on_annotated(workers, [name for name in DETECTORS if name in wanted], series)
    printed = (
        f"{len(series)} annotated series in {asked.annotated}\n\n{table.annotated_text(found, asked.long)}"
    )
    return printed, {**versions(), "annotated": found}


def on_annotated(workers: Workers, names: list[str], series: list[AnnotatedSeries]) -> dict[str, Numbers]:
    """Return title -> numbers on annotated series, of the detectors and of finding nothing."""
    found: dict[str, Numbers] = {}
    for name in names:
        try:
            detector = load(name)
        except NotInstalledError as error:
            found[name] = missing(name, error)
            continue
        found[titled(detector)] = experiments.on_annotated(workers, name, series)
    found["no change ever"] = experiments.nothing_found(series)
    return found


def detectors(workers: Workers, names: list[str], parts: tuple[str, ...], plan: Plan) -> dict[str, Numbers]:
    """Return title -> numbers of the detectors; one that is not installed has the one number `missing`."""
    steps = {"offline": experiments.offline, "online": experiments.watching, "speed": experiments.speed}
    found: dict[str, Numbers] = {}
    for name in names:
        if name == ORACLE:
            found["oracle"] = experiments.oracle_offline(workers, plan) if "offline" in parts else {}
            continue
        try:
            detector = load(name)
        except NotInstalledError as error:
            found[name] = missing(name, error)
            continue
        numbers: Numbers = {"version": detector.version, "online_form": detector.online is not None}
        for part in parts:
            if part in steps:
                numbers |= steps[part](workers, name, plan)
        found[titled(detector)] = numbers
    return found


def titled(detector: Detector) -> str:
    """Return the title of a detector's column."""
    return f"{detector.title} {detector.version}".strip()


def missing(name: str, error: NotInstalledError) -> Numbers:
    """Say that one is not installed, and return that as its numbers."""
    print(f"{name}: {error}", file=sys.stderr)
    return {"missing": str(error)}


def checks(
    workers: Workers, names: list[str], parts: tuple[str, ...], plan: Plan
) -> dict[str, dict[str, Numbers]]:
    """Return scenario -> title -> numbers of the comparers."""
    if "checks" not in parts:
        return {}
    titles, absent = {}, {}
    for name in names:
        try:
            titles[name] = COMPARERS[name]().title
        except NotInstalledError as error:
            absent[name] = missing(name, error)
    found = {}
    for scenario in table.SCENARIOS:
        numbers = experiments.checking(workers, tuple(titles), plan, scenario) if titles else {}
        found[scenario] = absent | {titles[name]: numbers[name] for name in titles}
    return found


def report(found: dict[str, Any], plan: Plan, long: bool) -> str:
    """Return all that is printed."""
    parts = [f"family {plan.family}, seed {plan.seed}{', quick' if plan.effort.quick else ''}"]
    if found["detectors"]:
        parts.append(table.text(table.grid(table.DETECTION, found["detectors"])))
        parts.append("(n): seconds extrapolated from n series")
    parts += [
        table.text(table.grid(table.SCENARIOS[scenario], columns))
        for scenario, columns in found["comparers"].items()
    ]
    if found["stopping"]:
        parts.append(table.stopping_text(found["stopping"]))
    if long:
        parts.append(table.long_text(found["detectors"]))
    return "\n\n".join(parts)


def about(plan: Plan) -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "family": plan.family,
        "seed": plan.seed,
        "effort": asdict(plan.effort),
        **versions(),
    }


def versions() -> dict[str, str]:
    """Return what every figure depends on."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


def finite(value: Any) -> Any:
    """Return the value with null for numbers that JSON has not: never, or not measured."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main()
