"""Which backends work with which kind of device; one is imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from workers.control.backends.interface import Backend, UnavailableError

BACKENDS: Final[Mapping[str, Mapping[str, str]]] = {
    "cpu": {"stdlib": "stdlib:Stdlib", "torch": "with_torch:TorchProcessor"},
    "nvidia": {"cuda": "cuda:Cuda", "torch": "with_torch:TorchGpu"},
    "jetson": {"cuda": "cuda:Cuda", "torch": "with_torch:TorchGpu"},
    "amd": {"torch": "with_torch:TorchGpu"},
    "tpu": {"jax": "with_jax:Jax", "torch": "with_torch:TorchTpu"},
    "neuron": {"torch": "with_torch:TorchNeuron"},
    "simulated": {"simulated": "simulated:Simulated"},
}
"""Of each kind of device its backends by name: module and class."""

UNASKED: Final[Mapping[str, Sequence[str]]] = {
    "cpu": ("stdlib",),
    "nvidia": ("cuda",),
    "jetson": ("cuda",),
    "amd": ("torch",),
    "tpu": ("jax", "torch"),
    "neuron": ("torch",),
    "simulated": ("simulated",),
}
"""What is tried where nobody chose: never what would take another's place for a while and begin a series of its own."""


def opened(request: Mapping[str, Any], index: int) -> Backend:
    """Return a backend for the device at this place of the group; the request's `kind` and `backend` say which.

    Raises:
        UnavailableError: none works here; the message says why, of each that was tried.
    """
    kind, chosen = request["kind"], request.get("backend")
    problems = []
    for name in [chosen] if chosen else UNASKED.get(kind, ()):
        try:
            return _class(kind, name).made_for(request, index)
        except UnavailableError as error:
            problems.append(str(error))
    raise UnavailableError("; ".join(problems) or f"no_backend: nothing works with the kind {kind}")


def _class(kind: str, name: str) -> type[Backend]:
    known = BACKENDS.get(kind, {})
    if name not in known:
        raise UnavailableError(f"no_backend: the kind {kind} has {', '.join(known) or 'none'}, not {name}")
    module, _, of_name = known[name].partition(":")
    found: type[Backend] = getattr(importlib.import_module(f"{__name__}.{module}"), of_name)
    return found
