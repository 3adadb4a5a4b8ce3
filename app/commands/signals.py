"""What SIGTERM and Ctrl-C do to a command."""

from __future__ import annotations

import signal
import threading


def stop_on_signals() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set; a second SIGINT interrupts."""
    stop = threading.Event()

    def ask(number: int, _: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    return stop


def interrupt_on_sigterm() -> None:
    """Have SIGTERM end the command the way Ctrl-C does: what was begun is cancelled and stopped."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
