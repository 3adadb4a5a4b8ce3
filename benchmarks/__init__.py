"""Ratchet's own speed: `make bench` prints each figure as a ratio to its limit; `bench_*.py` are benchmark files.

The benchmark files are measured by Ratchet itself, as `ratchet.toml` at the root says.
"""
