"""A comparison of stored numbers as plain JSON values."""

from __future__ import annotations

from typing import Any

from app.services.compare_stored import Compared, Pair
from app.services.hardware_document import hardware_document
from app.services.query_runs import name_of_run
from app.store.repositories.sides import StoredNumber

NOTE = (
    "A comparison of stored numbers, the newest of each series on either side. It is no verdict: "
    "the two need not come from one machine at one time, and no noise was taken into account."
)


def comparison_document(compared: Compared) -> dict[str, Any]:
    """Return both sides' medians of every series, and the change head/base − 1 where both have one.

    Where two device classes are compared, `hardware` has what they do, draw and cost.
    """
    return {
        "project": compared.project.name,
        "base": compared.base,
        "head": compared.head,
        "note": NOTE,
        "hardware": hardware_document(compared.hardware) if compared.hardware else None,
        "series": [_pair(compared, pair) for pair in compared.pairs],
        "only_base": [_pair(compared, pair) for pair in compared.only_base],
        "only_head": [_pair(compared, pair) for pair in compared.only_head],
    }


def _pair(compared: Compared, pair: Pair) -> dict[str, Any]:
    its = pair.either
    series = {
        "id": its.series_id,
        "project": compared.project.name,
        "benchmark": its.benchmark,
        "params": its.params,
        "metric": its.metric,
        "unit": its.unit,
        "better": its.better,
        "device_class": its.device_class,
        "version": its.version,
    }
    return series | _side("base", pair.base) | _side("head", pair.head) | {"change": pair.change}


def _side(name: str, its: StoredNumber | None) -> dict[str, Any]:
    return {
        f"{name}_median": its and its.value,
        f"{name}_low": its and its.low,
        f"{name}_high": its and its.high,
        f"{name}_n": its and its.n,
        f"{name}_run": its and name_of_run(its.run_id, its.upload_id),
        f"{name}_commit": its and its.sha,
    }
