"""How a task of ours is registered with Celery."""

from __future__ import annotations

from collections.abc import Callable

from celery import Celery


def task(app: Celery, name: str) -> Callable[[Callable[..., None]], object]:
    """Register a task with this app alone; Celery's own decorator is untyped."""
    register: Callable[[Callable[..., None]], object] = app.task(name=name, shared=False)
    return register
