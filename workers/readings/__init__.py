"""What vendors' tools print about devices, read into `record.DeviceRecord`; the registry is `READERS`.

A new form of output is one `Reader` in the module of its tool, and the module's line below.
"""

from __future__ import annotations

from workers.readings.reader import Reader, Recording

READERS: tuple[Reader, ...] = ()
"""Every form of output that is known."""


def read(text: str) -> Recording | None:
    """Return what a recorded output tells, recognised by its content; None where no reader knows it.

    Raises:
        UnreadableError: it is a known tool's output, but broken.
    """
    reader = next((reader for reader in READERS if reader.recognises(text)), None)
    return None if reader is None else Recording(reader.tool, reader.form, reader.read(text))
