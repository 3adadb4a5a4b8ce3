"""A Prometheus that has recorded a script of the past: two processes of the service, and hosts with GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.factories import grafana
from tests.factories.grafana import PROMETHEUS, Chosen, Query, Times
from tests.factories.own_metrics import Series, two_processes
from tests.integration.dcgm.world import remembering

LASTS, STEP = timedelta(hours=3), timedelta(seconds=15)
BLANK = 9223372036854775794.0
"""What DCGM tells of a number that it does not have."""

BUSY, IDLE, HALVED, SILENT = ("node-a", "0"), ("node-a", "1"), ("node-b", "0"), ("node-b", "1")
"""Host and number of four GPUs: one works, one does not, one is divided, and of one little is known."""

POWER = {BUSY: 350.0, IDLE: 60.0, HALVED: 200.0}


def gpus() -> Iterator[Series]:
    """Return what dcgm-exporter tells of the four."""
    yield from _whole(BUSY, util=96, sm=0.8, tensor=0.5, dram=0.9, mask=0x4 | 0x40, pod="train-1")
    yield from _whole(BUSY, util=96, sm=0.8, tensor=0.5, dram=0.9, mask=0x4 | 0x40, pod="train-2")
    yield from _whole(IDLE, util=1, sm=0.01, tensor=0.0, dram=0.02, mask=0x1)
    yield from _whole(HALVED, util=50, sm=None, tensor=None, dram=None, mask=0x4)
    for instance, share in (("7", 0.6), ("8", 0.2)):
        labels = _labels(HALVED) | {"GPU_I_ID": instance, "GPU_I_PROFILE": "3g.40gb"}
        for name in ("SM_ACTIVE", "PIPE_TENSOR_ACTIVE", "DRAM_ACTIVE"):
            yield Series(f"DCGM_FI_PROF_{name}", labels, lambda _, share=share: share)
    silent = _labels(SILENT)
    yield Series("DCGM_FI_DEV_GPU_UTIL", silent, lambda _: 2)
    yield Series("DCGM_FI_DEV_POWER_USAGE", silent, lambda _: BLANK)
    yield Series("DCGM_FI_PROF_SM_UTIL_RATIO", silent, lambda _: 0.3)


def _labels(gpu: tuple[str, str]) -> dict[str, str]:
    host, number = gpu
    model, uuid = "NVIDIA H100 80GB HBM3", f"GPU-{host}-{number}"
    return {
        "Hostname": host,
        "gpu": number,
        "UUID": uuid,
        "modelName": model,
        "job": "dcgm",
        "instance": host,
    }


def _whole(
    gpu: tuple[str, str],
    *,
    util: float,
    sm: float | None,
    tensor: float | None,
    dram: float | None,
    mask: int,
    **more: str,
) -> Iterator[Series]:
    power = POWER[gpu]
    held: dict[str, float | None] = {
        "DEV_GPU_UTIL": util,
        "PROF_SM_ACTIVE": sm,
        "PROF_PIPE_TENSOR_ACTIVE": tensor,
        "PROF_DRAM_ACTIVE": dram,
        "DEV_POWER_USAGE": power,
        "DEV_GPU_TEMP": 30 + power / 10,
        "DEV_SM_CLOCK": 1980,
        "DEV_MEM_CLOCK": 2619,
        "DEV_CLOCK_THROTTLE_REASONS": mask,
        "DEV_FB_USED": 40_000,
        "DEV_FB_FREE": 40_000,
        "PROF_PCIE_TX_BYTES": 1e9,
        "PROF_PCIE_RX_BYTES": 2e9,
        "PROF_NVLINK_TX_BYTES": 30e9,
        "PROF_NVLINK_RX_BYTES": 40e9,
        "DEV_XID_ERRORS": 79 if gpu == IDLE else 0,
        "DEV_ECC_SBE_VOL_TOTAL": 3,
        "DEV_ECC_DBE_VOL_TOTAL": 1 if gpu == IDLE else 0,
        "DEV_CORRECTABLE_REMAPPED_ROWS": 2,
        "DEV_UNCORRECTABLE_REMAPPED_ROWS": 0,
        "DEV_ROW_REMAP_FAILURE": 0,
        "DEV_PCIE_REPLAY_COUNTER": 5,
    }
    labels = _labels(gpu) | more
    for name, value in held.items():
        if value is not None:
            yield Series(f"DCGM_FI_{name}", labels, lambda _, value=value: value)
    counted = {
        "TOTAL_ENERGY_CONSUMPTION": power * 1000,
        "POWER_VIOLATION": 0.25e9 * (util > 90),
        "THERMAL_VIOLATION": 0.01e9 * (util > 90),
        "SYNC_BOOST_VIOLATION": 0.0,
        "BOARD_LIMIT_VIOLATION": 0.0,
        "RELIABILITY_VIOLATION": 0.0,
    }
    for name, per_s in counted.items():
        yield Series(f"DCGM_FI_DEV_{name}", labels, lambda elapsed, per_s=per_s: 1e9 + per_s * elapsed)


@dataclass
class Recorded:
    """Somebody who looks at dashboards over Prometheus, at the end of the script unless a time is given."""

    url: str
    times: Times

    def get(self, path: str, **parameters: Any) -> Any:
        """Ask Prometheus, and return its data; it refuses a query that is wrong."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def choices(self, asked: str, chosen: Chosen) -> list[str]:
        """Return the values of a variable of the form `label_values(selector,label)`."""
        selector, _, label = asked.removeprefix("label_values(").removesuffix(")").rpartition(",")
        found = grafana.filled_in(selector, chosen, "regex")
        times = {"start": self.times.start.timestamp(), "end": self.times.end.timestamp()}
        values: list[str] = self.get(f"label/{label.strip()}/values", **{"match[]": found}, **times)
        return values

    def chosen(self, uid: str, **other: list[str]) -> dict[str, str | list[str]]:
        """Return what is chosen when a dashboard is opened, and `other` where that is said."""
        chosen: dict[str, str | list[str]] = {"ratchet": "x", "prometheus": "ratchet-prometheus"}
        for variable in grafana.variables(uid, PROMETHEUS):
            chosen[variable["name"]] = other.get(variable["name"], variable["allValue"])
        return chosen

    def answers(self, query: Query, **other: list[str]) -> list[dict[str, Any]]:
        """Return the series that a query tells, as Prometheus gives them."""
        expr = grafana.promql(query, self.chosen(query.board, **other), self.times)
        if query.raw.get("instant"):
            data = self.get("query", query=expr, time=self.times.end.timestamp())
            assert data["resultType"] in ("vector", "scalar")
        else:
            start, end = self.times.start.timestamp(), self.times.end.timestamp()
            step = self.times.interval.total_seconds()
            data = self.get("query_range", query=expr, start=start, end=end, step=step)
        found: list[dict[str, Any]] = data["result"]
        return found

    def panel(self, uid: str, title: str, *, ref: str = "A", **other: list[str]) -> list[dict[str, Any]]:
        """Return the series that a panel's query tells."""
        (query,) = [
            query
            for query in grafana.queries(PROMETHEUS)
            if (query.board, query.owner, query.raw["refId"]) == (uid, title, ref)
        ]
        return self.answers(query, **other)


def newest(series: dict[str, Any]) -> float:
    """Return the last value of a series."""
    _, value = series["values"][-1] if "values" in series else series["value"]
    return float(value)


@contextmanager
def recorded(folder: Path) -> Iterator[Recorded]:
    """Have the script recorded, a day ago, and run a Prometheus over it."""
    began = (datetime.now(UTC) - timedelta(days=1)).replace(second=0, microsecond=0)
    with remembering(folder, [*two_processes(), *gpus()], began, LASTS, STEP) as url:
        end = began + LASTS
        yield Recorded(url, Times(end - timedelta(hours=1), end))
