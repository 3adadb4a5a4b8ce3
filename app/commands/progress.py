"""A check's progress: a few lines that a terminal draws over, or one line a change where there is no terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, TextIO

from app.integrations.service_client import ServiceClient

_WORDS = {
    "preparing": "preparing",
    "checking_out": "checking out both commits",
    "building": "building environments",
    "priming": "priming caches",
    "measuring": "measuring",
    "finishing": "finishing",
}
_BAR_WIDTH = 20


def follow(client: ServiceClient, check_id: int, out: TextIO, *, label: str = "") -> dict[str, Any]:
    """Show the check's progress until it is complete, and return its last progress document."""
    display = _Display(out, label)
    seen = ""
    while True:
        document = client.progress(check_id, seen)
        seen = document["version"]
        display.show(document)
        if document["state"] == "complete":
            display.close()
            return document


def watch(client: ServiceClient, check_id: int, *, label: str = "") -> tuple[dict[str, Any], str]:
    """Follow a check to its end on standard error; return its document and its report; Ctrl-C cancels it."""
    try:
        follow(client, check_id, sys.stderr, label=label)
    except KeyboardInterrupt:
        client.cancel(check_id)
        raise
    return client.check(check_id), client.report(check_id)


class _Display:
    def __init__(self, out: TextIO, label: str) -> None:
        self._out, self._label, self._live = out, label, out.isatty()
        self._drawn = 0
        self._last: dict[str, tuple[str, float]] = {}

    def show(self, document: dict[str, Any]) -> None:
        """Draw the document."""
        lines = [self._line(job) for job in document["jobs"]]
        if self._live:
            self._redraw(lines)
        else:
            self._append(document["jobs"], lines)
        self._out.flush()

    def close(self) -> None:
        """Leave the last state standing."""
        self._drawn = 0

    def _redraw(self, lines: list[str]) -> None:
        width = shutil.get_terminal_size().columns - 1
        if self._drawn:
            self._out.write(f"\x1b[{self._drawn}A")
        for line in lines:
            self._out.write(f"\x1b[2K{line[:width]}\n")
        self._drawn = len(lines)

    def _append(self, jobs: list[dict[str, Any]], lines: list[str]) -> None:
        """Write a line for each change of phase, and now and then while it measures."""
        for job, line in zip(jobs, lines, strict=True):
            name, stage, now = (
                f"{job['suite']} {job['device_class']}",
                f"{job['state']} {job['phase']}",
                time.monotonic(),
            )
            before, at = self._last.get(name, ("", 0.0))
            if stage != before or now - at > 10:
                self._out.write(f"{line}\n")
                self._last[name] = (stage, now)

    def _line(self, job: dict[str, Any]) -> str:
        name = " · ".join(filter(None, (self._label, job["suite"], job["device_class"])))
        return f"{name}  {_stage(job)}"


def _stage(job: dict[str, Any]) -> str:
    state = job["state"]
    if state == "queued":
        why = f" ({job['message'] or job['reason']})" if job["reason"] else ""
        return f"queued, place {job['place']}{why}"
    if state == "running" and job["phase"] == "measuring":
        share = min(1.0, job["device_s"] / job["budget_s"])
        bar = ("█" * round(share * _BAR_WIDTH)).ljust(_BAR_WIDTH, "░")
        return (
            f"{bar} {job['device_s']:.0f} of at most {job['budget_s']:.0f} s · "
            f"pair {job['pairs']} · {job['settled']} of {job['cases']} settled"
        )
    if state in ("leased", "running"):
        return " ".join(filter(None, (_WORDS.get(job["phase"], "starting"), job["detail"])))
    if state == "succeeded":
        done = f"done: {job['pairs']} pairs in {job['device_s']:.0f} s"
        return "; ".join(filter(None, (done, job["message"])))
    return ": ".join(filter(None, (state.replace("_", " "), job["message"] or job["reason"])))
