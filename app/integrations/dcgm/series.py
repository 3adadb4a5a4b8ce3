"""What Prometheus answers, as series of samples: parsed, without what is not the device's, one for each exporter.

The same number of a GPU may come as several series: as pods come and go dcgm-exporter changes its labels (`pod`,
`namespace`, `container`, whatever labels pods have), and with shared GPUs it repeats a number for each pod. Those are
one source. Two exporters, or two Prometheus behind one address, are two.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.activity import SOURCE_LABELS
from app.domain.errors import UnavailableError
from app.integrations.dcgm.device import Gpu
from app.integrations.dcgm.fields import BY_NAME
from app.integrations.dcgm.windows import Sample

SHOWN_LABELS = (*SOURCE_LABELS, "gpu", "device", "modelName", "GPU_I_ID", "GPU_I_PROFILE")
"""What is kept to show where a number came from."""
UUID_LABELS = ("UUID", "uuid", "gpu_uuid")
"""How exporters call the GPU's UUID; the second is dcgm-exporter's with its option `--use-old-namespace`."""
MALFORMED = (KeyError, TypeError, ValueError, AttributeError)
"""What comes of reading something else as Prometheus' answer."""
LINK_LABEL = "nvlink"
"""On numbers of a single link."""

Row = Mapping[str, Any]
"""A series as Prometheus answers it: `metric` and `values`."""


@dataclass(frozen=True)
class Source:
    """One field of the device as one exporter told it: samples in order, each moment once.

    `contradictions` are moments at which it told two numbers; they are left out.
    """

    field: str
    labels: Mapping[str, str]
    samples: Sequence[Sample]
    contradictions: Sequence[float] = ()

    def __str__(self) -> str:
        """Who said it, for people."""
        who = [f"{name} {self.labels[name]}" for name in SOURCE_LABELS if name in self.labels]
        return ", ".join(who) or "a source without labels"


def selectors(gpu: Gpu) -> list[str]:
    """Return how to ask for the device's fields, the most usual way first; its names must be `is_well_named`."""
    names = "|".join(name for name, field in BY_NAME.items() if field.of_instance or not gpu.is_instance)
    return [f'{{__name__=~"{names}",{matchers}}}' for matchers in _matchers(gpu)]


def _matchers(gpu: Gpu) -> list[str]:
    if not gpu.is_located:
        return [f'{label}="{gpu.uuid}"' for label in ("dra_mig_device_uuid", "UUID", "uuid")]
    instance = gpu.instance if gpu.is_instance else ""
    return [f'{label}="{gpu.gpu_uuid}",GPU_I_ID="{instance}"' for label in UUID_LABELS]


def sources(rows: Iterable[Row]) -> dict[str, list[Source]]:
    """Return by metric who told it, in a fixed order.

    Raises UnavailableError where the rows are not of Prometheus' form.
    """
    grouped: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    try:
        for row in rows:
            labels = row["metric"]
            if labels["__name__"] in BY_NAME and LINK_LABEL not in labels:
                grouped[labels["__name__"], *(labels.get(name, "") for name in SOURCE_LABELS)].append(row)
        return _by_metric(_source(grouped[key]) for key in sorted(grouped))
    except MALFORMED as error:
        raise UnavailableError(f"Prometheus answers in a form that is not its own: {error!r}") from error


def instances(gpu: Gpu, rows: Sequence[Row]) -> set[str]:
    """Return under which `GPU_I_ID` these rows tell of the device's GPU; an empty one stands for the whole."""
    try:
        told = [row["metric"] for row in rows]
        return {
            labels.get("GPU_I_ID", "")
            for labels in told
            if gpu.gpu_uuid in (labels.get(name) for name in UUID_LABELS)
        }
    except MALFORMED as error:
        raise UnavailableError(f"Prometheus answers in a form that is not its own: {error!r}") from error


def _by_metric(told: Iterable[Source]) -> dict[str, list[Source]]:
    by_metric: dict[str, list[Source]] = defaultdict(list)
    for source in told:
        if source.samples:
            by_metric[BY_NAME[source.field].metric].append(source)
    return dict(by_metric)


def _source(rows: Sequence[Row]) -> Source:
    """Put together what one exporter told under changing labels."""
    told: dict[float, float] = {}
    contradicted = set()
    for row in rows:
        for moment, value in samples_of(row):
            if told.setdefault(moment, value) != value:
                contradicted.add(moment)
    samples = [(moment, told[moment]) for moment in sorted(told) if moment not in contradicted]
    labels = rows[-1]["metric"]
    shown = {name: str(labels[name]) for name in SHOWN_LABELS if labels.get(name)}
    return Source(str(labels["__name__"]), shown, samples, sorted(contradicted))


def samples_of(row: Row) -> list[Sample]:
    """Return the samples of a row; NaN and infinities are none. Raises one of `MALFORMED`."""
    parsed = [(float(moment), float(value)) for moment, value in row["values"]]
    return [(moment, value) for moment, value in parsed if math.isfinite(value)]
