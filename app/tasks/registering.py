"""How a task of ours is registered with Celery, and what the lines say that are logged while it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from celery import Celery

from workers import logs


def task(app: Celery, name: str) -> Callable[[Callable[..., None]], object]:
    """Register a task with this app alone; Celery's own decorator is untyped."""

    def register(do: Callable[..., None]) -> object:
        @wraps(do)
        def done(**payload: Any) -> None:
            # What a message carries are ids, and names such as a device class.
            with logs.about(task=name, **payload):
                do(**payload)

        return app.task(name=name, shared=False)(done)

    return register
