"""Questions to a library that may hang, asked by one thread: whoever waits for an answer does so for a while only.

A call into a driver cannot be interrupted. When it never ends, one daemon thread is lost with it, and the agent goes
on. The thread sleeps while nobody asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class LateError(Exception):
    """There was no answer in time; the question may still be on its way."""


class Asker:
    """One thread that asks one question after the other; it begins with the first and ends with `close`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._questions: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._began_s: float | None = None

    def begin(self, question: Callable[[], T]) -> Future[T]:
        """Return the answer to come; it can be cancelled until the thread gets to it."""
        answer: Future[T] = Future()
        self._questions.put((question, answer))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return answer

    def ask(self, question: Callable[[], T], wait_s: float) -> T:
        """Return the answer, or raise what the question raises.

        Raises:
            LateError: there is none after `wait_s`.
        """
        answer = self.begin(question)
        try:
            return answer.result(wait_s)
        except TimeoutError as error:
            if not answer.done():
                answer.cancel()
                raise LateError(f"no answer within {wait_s:g} s") from error
            raise

    @property
    def busy_s(self) -> float:
        """For how long the thread has been at its present question [s]; 0 when it is at none."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    @property
    def busy_since(self) -> datetime:
        """The moment at which the thread turned to its present question; now, when it is at none."""
        return datetime.now(UTC) - timedelta(seconds=self.busy_s)

    def close(self, last: Callable[[], object] | None = None) -> None:
        """Ask `last` as the last question and end the thread; wait a second at most for a question on its way."""
        if last is not None:
            self.begin(last)
        self._questions.put(None)
        if self._thread is not None:
            self._thread.join(1.0)

    def _work(self) -> None:
        while (item := self._questions.get()) is not None:
            question, answer = item
            if answer.set_running_or_notify_cancel():
                self._answer(question, answer)

    def _answer(self, question: Callable[[], Any], answer: Future[Any]) -> None:
        self._began_s = time.monotonic()
        try:
            found = question()
        except Exception as error:  # the edge of the thread: whoever asked gets it
            answer.set_exception(error)
        else:
            answer.set_result(found)
        finally:
            self._began_s = None
