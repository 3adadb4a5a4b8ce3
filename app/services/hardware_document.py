"""Two device classes held against each other as plain JSON values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.domain.hardware import (
    HardwareCase,
    HardwareComparison,
    HardwareSide,
    Kind,
    Level,
    Mean,
    Quantity,
    Ratio,
)
from app.reports.hardware_words import hardware_sentence
from app.reports.text import plain


def hardware_document(compared: HardwareComparison) -> dict[str, Any]:
    """Return what is best in one sentence, both device classes with their prices, the means, and every case."""
    return {
        "sentence": hardware_sentence(compared, named=plain),
        "base": _side(compared.base),
        "head": _side(compared.head),
        "two_commits": compared.n_of_two_commits,
        "means": {str(kind): _mean(compared.mean(kind)) for kind in Kind},
        "cases": [_case(case) for case in compared.cases],
    }


def _side(its: HardwareSide) -> dict[str, Any]:
    return {
        "device_class": its.device_class,
        "price": asdict(its.price) if its.price else None,
        "why": its.why or None,
    }


def _mean(its: Mean) -> dict[str, Any]:
    return {
        "n": its.n,
        "better": its.kind.better,
        "best": its.best,
        **_ratio(its.ratio),
        "why": its.why or None,
    }


def _case(its: HardwareCase) -> dict[str, Any]:
    named = {"benchmark": its.benchmark, "params": its.params, "two_commits": its.is_of_two_commits}
    return named | {str(one.kind): _quantity(one) for one in its.quantities}


def _quantity(its: Quantity) -> dict[str, Any]:
    return {
        "better": its.kind.better,
        "best": its.best,
        **_ratio(its.ratio),
        "base": _level(its.base),
        "head": _level(its.head),
        "why": list(its.why),
    }


def _ratio(its: Ratio | None) -> dict[str, Any]:
    return {"ratio": its and its.value, "ratio_low": its and its.low, "ratio_high": its and its.high}


def _level(its: Level | None) -> dict[str, Any] | None:
    if its is None:
        return None
    told = {"source": str(its.source), "per": its.per or None, "formula": its.formula or None}
    return asdict(its) | told
