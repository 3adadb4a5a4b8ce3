"""What a Prometheus tells of a device's activity, as far as those who read it and those who show it agree on it."""

from __future__ import annotations

SOURCE_LABELS = (
    "cluster",
    "prometheus",
    "prometheus_replica",
    "replica",
    "job",
    "instance",
    "exported_job",
    "exported_instance",
    "Hostname",
    "hostname",
)
"""Labels that say who told a number, in the order in which they are shown; they stay while a run lasts.

Everything else may change with the pods on the GPU.
"""
