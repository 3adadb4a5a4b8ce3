"""Conbench: benchmark results as its API lists them (`GET /api/benchmark-results/`), and as its clients post them.

A page of the API is a list, or an object whose `data` is one. Which way is better follows from the unit, as in
Conbench: rates grow. Results that Conbench counts as failed are left out: those with an error, without values, or
with a null among them. Results of a pull request are on the branch of it, which Conbench names with who owns it
(`ada:fix`); those of the default branch are the project's own history, however that is called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from app.formats.imported.model import ImportedCommit, ImportedResult, Machine, Reading
from app.formats.imported.quantities import clean_unit, direction_of, metric_of
from app.formats.imported.values import (
    Object,
    as_count,
    as_list,
    as_numbers,
    as_object,
    as_params,
    as_text,
    as_time,
    first_line,
    from_text,
)

_NO_PARAMETERS = ("name", "id")


def recognises(document: Any) -> bool:
    """Tell it by the tags and stats of the first result."""
    first = next(iter(_listed(document)), None)
    return isinstance(first, dict) and "tags" in first and ("stats" in first or "error" in first)


def _listed(document: Any) -> list[Any]:
    found = document.get("data") if isinstance(document, dict) and "tags" not in document else document
    return found if isinstance(found, list) else [found]


def read(document: Any, companions: Mapping[str, Any], reading: Reading) -> Reading:
    """Note what the file says; it goes alone. Results of one run on one machine belong together."""
    groups: dict[tuple[str, ...], list[tuple[Object, ImportedResult]]] = defaultdict(list)
    for index, found in enumerate(_listed(document)):
        place = f"[{index}]"
        with reading.at(place):
            told = as_object(found, "the result")
            stats = as_object(told.get("stats"), "stats")
            data = as_list(stats.get("data"), "stats.data")
            if told.get("error") or not data or None in data:
                reading.left_out["that failed"] += 1
                continue
            key = _commit(told).sha, str(told.get("run_id")), _machine(told).name
            result = _result(told, stats, place)
            groups[key].append((told, result))
    for some in groups.values():
        first = some[0][0]
        with reading.at(some[0][1].place):
            reading.add(
                _commit(first),
                _machine(first),
                {"tool": "conbench", **_environment(first)},
                [result for _, result in some],
                some[0][1].place,
                measured_at=as_time(first.get("timestamp"), "timestamp"),
            )
    return reading


def _result(told: Object, stats: Object, place: str) -> ImportedResult:
    tags = as_object(told.get("tags"), "tags")
    unit = clean_unit(as_text(stats.get("unit"), "stats.unit", "1"))
    params = as_params({name: value for name, value in tags.items() if name not in _NO_PARAMETERS})
    return ImportedResult(
        benchmark=as_text(tags.get("name"), "tags.name"),
        params=params,
        metric=metric_of(unit),
        unit=unit,
        better=direction_of(unit),
        values=as_numbers([from_text(value) for value in stats["data"]], "stats.data"),
        place=place,
    )


def _commit(told: Object) -> ImportedCommit:
    """Return the commit as the API tells it, else as a client posts it. Its branch is empty where that is not told."""
    commit = as_object(told.get("commit"), "commit")
    if not commit:
        github = as_object(told.get("github"), "github")
        sha = str(github.get("commit_hash") or github.get("commit") or "")
        return ImportedCommit(sha, branch=_branch(github) if github.get("pr_number") else None)
    fork_point = commit.get("fork_point_sha") or commit.get("sha")
    return ImportedCommit(
        as_text(commit.get("sha"), "commit.sha", ""),
        as_time(commit.get("timestamp"), "commit.timestamp"),
        parent=commit.get("parent_sha") or None,
        branch=_branch(commit) if fork_point != commit.get("sha") else None,
        author=first_line(commit.get("author_name")),
        subject=first_line(commit.get("message")),
    )


def _branch(told: Object) -> str:
    return as_text(told.get("branch"), "branch", "")


def _machine(told: Object) -> Machine:
    hardware = as_object(told.get("hardware"), "hardware")
    info = as_object(told.get("machine_info") or hardware.get("info") or hardware, "hardware")
    return Machine(
        str(info.get("cpu_model_name") or ""),
        as_count(info.get("cpu_thread_count")),
        str(info.get("name") or hardware.get("name") or ""),
    )


def _environment(told: Object) -> Object:
    machine, context = _machine(told), told.get("context")
    facts: Object = {"machine": machine.name, "cpu": machine.cpu, "threads": machine.threads}
    return {name: value for name, value in facts.items() if value} | (
        {"context": context} if isinstance(context, dict) and context else {}
    )
