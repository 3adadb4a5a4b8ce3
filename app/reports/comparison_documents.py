"""A compared benchmark for other programs: what `ratchet compare --json` and `--csv` print."""

from __future__ import annotations

from typing import Any

from app.analysis.comparison.results import Comparison
from app.reports.documents import number

CSV_HEADER = "benchmark change ci_low ci_high p_value q_value verdict n_base n_head note".split()


def comparison_document(compared: Comparison) -> dict[str, Any]:
    """Return the benchmark as a JSON object, keys in the order of `CSV_HEADER`."""
    return {
        "benchmark": compared.benchmark,
        "change": number(compared.change),
        "ci_low": number(compared.ci_low),
        "ci_high": number(compared.ci_high),
        "p_value": number(compared.p_value),
        "q_value": number(compared.q_value),
        "verdict": compared.verdict.value,
        "n_base": int(compared.n_base),
        "n_head": int(compared.n_head),
        "note": compared.note or None,
    }


def comparison_row(compared: Comparison) -> list[object]:
    """Return the benchmark as a row under `CSV_HEADER`."""
    return list(comparison_document(compared).values())
