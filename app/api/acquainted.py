"""Whose token was good lately: for such a question the trip that answers it is also the one that looks for the token.

That trip says again whether the token is good, so nobody is let in by what is kept here. What it spares strangers is
nothing: what they ask for is not looked up before it is known who they are.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock

MOST = 1_000
"""How many are kept; who asked last stays longest."""


class Acquainted:
    """Tokens that were good when they were last shown, by their digests."""

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._one_at_a_time = Lock()

    def __contains__(self, token: str) -> bool:
        """Say whether the token was good when it was last shown, as far as that is kept."""
        digest = _digest(token)
        with self._one_at_a_time:
            if digest not in self._digests:
                return False
            self._digests.move_to_end(digest)
            return True

    def add(self, token: str) -> None:
        """Keep that the token is good."""
        digest = _digest(token)
        with self._one_at_a_time:
            self._digests[digest] = None
            self._digests.move_to_end(digest)
            if len(self._digests) > MOST:
                self._digests.popitem(last=False)

    def drop(self, token: str) -> None:
        """Forget the token, as it is not good."""
        with self._one_at_a_time:
            self._digests.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
