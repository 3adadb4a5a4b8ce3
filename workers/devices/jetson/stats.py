"""A Jetson board's readings from the service of jetson-stats, by its Python client `jtop`, where that is installed.

Described in jetson-stats' reference of `jtop.jtop`, version 4: `gpu[NAME]` has the load in percent and clocks in kHz,
`power["tot"]` milliwatts, `temperature[NAME]` degrees C. What an earlier version names otherwise is left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Self

from workers.devices.tools import Poller
from workers.readings.jetson.tegrastats import temperature_c
from workers.readings.quantities import quantity

PERIOD_S = 0.1


class JtopSource:
    """What the service told last."""

    def __init__(self, client: Any, oldest_s: float) -> None:
        self._client = client
        self._answers: Poller[dict[str, Any]] = Poller(
            lambda: read_jtop(client), period_s=PERIOD_S, oldest_s=oldest_s
        )

    @classmethod
    def open(cls, oldest_s: float) -> Self | None:
        """Return a source whose answers are at most `oldest_s` old; None where there is no client or no service."""
        try:
            client = importlib.import_module("jtop").jtop()
            client.start()
        except Exception:  # another project's: it has exceptions of its own for a service that is not there
            return None
        return cls(client, oldest_s)

    def latest(self) -> dict[str, Any] | None:
        """Return readings by name, or None where there are none, or they have grown old."""
        return self._answers.latest()

    def close(self) -> None:
        """Ask no more, and leave the service."""
        self._answers.close()
        self._client.close()


def read_jtop(client: Any) -> dict[str, Any]:
    """Return readings by name, None for what the service does not tell."""
    gpu = _part(next(iter(_part(client.gpu).values()), None))
    sensors = {
        name: quantity(_part(sensor).get("temp")) for name, sensor in _part(client.temperature).items()
    }
    known = {name.lower(): celsius for name, celsius in sensors.items() if celsius is not None}
    return {
        "util": quantity(_part(gpu.get("status")).get("load"), unit="%"),
        "sm_clock_hz": quantity(_part(gpu.get("freq")).get("cur"), unit="kHz") or None,
        "power_w": quantity(_part(_part(client.power).get("tot")).get("power"), unit="mW"),
        "temp_c": temperature_c(known),
    }


def _part(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
