"""Measured documents on disk, from before they are posted until the service has accepted them.

One file for each document: a line that says where it goes, then the document as it is posted. A document whose
lease ended is refused in the end, and then removed; one that stays undeliverable goes after a day.
"""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

from workers.errors import JobError, RefusedError, UnreachableError
from workers.lease.client import Patience, ServiceClient
from workers.protocol import Invocation, OpenCases

log = logging.getLogger(__name__)

KEPT_S = 24 * 3600.0


@dataclass(frozen=True)
class Entry:
    """One document that waits: its file, where it goes, and under which key."""

    path: Path
    lease_id: str
    key: str
    document: bytes


class Spool:
    """The documents that wait, oldest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, lease_id: str, key: str, invocation: Invocation) -> Entry:
        """Keep a document; when this returns it is on disk.

        Raises:
            JobError: the disk does not take it.
        """
        document = invocation.model_dump_json().encode()
        path = self._folder / f"{time.time_ns():020d}.json"
        address = json.dumps({"lease_id": lease_id, "key": key}).encode()
        try:
            _write_durably(path, address + b"\n" + document)
        except OSError as error:
            raise JobError("disk_full", f"{path} cannot be written: {error.strerror}") from error
        return Entry(path, lease_id, key, document)

    def post(self, entry: Entry, client: ServiceClient, patience: Patience) -> OpenCases:
        """Post a document and forget it, unless the service cannot be reached.

        Raises:
            RefusedError: the service does not want it, now or ever.
            UnreachableError: it is still here, for later.
        """
        try:
            answer = client.invocation(entry.lease_id, entry.key, entry.document, patience)
        except RefusedError:
            entry.path.unlink(missing_ok=True)
            raise
        entry.path.unlink(missing_ok=True)
        return answer

    def deliver(self, client: ServiceClient, patience: Patience) -> None:
        """Post what earlier leases left behind, as far as the service can be reached."""
        self._remove_old()
        for entry in self.pending():
            try:
                self.post(entry, client, patience)
            except RefusedError as error:
                log.info("left from an earlier run, refused: %s: %s", entry.key, error)
            except UnreachableError as error:
                log.warning("left from an earlier run, still waiting: %s: %s", entry.key, error)
                return

    def pending(self) -> list[Entry]:
        """Return what waits, oldest first; a file that cannot be read is removed."""
        entries = [_read(path) for path in sorted(self._folder.glob("*.json"))]
        return [entry for entry in entries if entry is not None]

    def _remove_old(self) -> None:
        for path in self._folder.glob("*"):
            if time.time() - path.stat().st_mtime > KEPT_S:
                log.warning("%s was never delivered and is removed after a day", path)
                path.unlink(missing_ok=True)


def _write_durably(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def _read(path: Path) -> Entry | None:
    try:
        line, _, document = path.read_bytes().partition(b"\n")
        address = json.loads(line)
        return Entry(path, address["lease_id"], address["key"], document)
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("%s cannot be read and is removed: %s", path, error)
        path.unlink(missing_ok=True)
        return None
