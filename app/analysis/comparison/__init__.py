"""Base against head of many benchmarks from their values, with multiplicity controlled over all of them."""

from app.analysis.comparison.results import BenchmarkValues, Comparison
from app.analysis.comparison.verdicts import compare

__all__ = ["BenchmarkValues", "Comparison", "compare"]
