"""What GitHub answered last to what is asked again and again: where nothing is new it says so, and that is not counted.

An answer has a tag; the next question names it, and `304 Not Modified` means that the answer is still the same. GitHub
does not count those against an hour's requests. Only what was read of an answer is kept, and of so many questions.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 1_000
"""Questions whose answers are kept, those asked last."""

SAME = 304


class Remembered:
    """Answers by what was asked, for one process."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[Hashable, tuple[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, question: Hashable, call: Callable[[dict[str, str]], Any], read: Callable[[Any], T]) -> T:
        """Return what is read of the answer, now or the last time that it was the same.

        Args:
            question: what tells it from others: who asks, of what, which page.
            call: sends it with the headers that it is given, and returns the response.
            read: makes of the answer's JSON what is kept.
        """
        with self._lock:
            known = self._known.get(question)
        answer = call({"If-None-Match": known[0]} if known else {})
        if known is not None and answer.status_code == SAME:
            tag, told = known
        else:
            tag, told = answer.headers.get("etag", ""), read(answer.json())
        self._keep(question, tag, told)
        return told  # type: ignore[no-any-return]

    def _keep(self, question: Hashable, tag: str, told: Any) -> None:
        with self._lock:
            self._known.pop(question, None)
            if tag:
                self._known[question] = tag, told
            while len(self._known) > self._most:
                self._known.popitem(last=False)
