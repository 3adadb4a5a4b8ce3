"""A folder of recorded outputs, such as a site sends of its machine: each file read by whatever tool wrote it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.readings import read
from workers.readings.reader import Recording, UnreadableError
from workers.readings.wrappings import decoded, outputs, unpacked

LARGEST_B = 64 * 2**20

UNKNOWN = "not an output of a device tool that is known"


@dataclass(frozen=True)
class RecordedFile:
    """One file: what it tells, or in `trouble` why it tells nothing, or not all."""

    name: str
    recordings: tuple[Recording, ...] = ()
    trouble: str = ""


def read_folder(path: Path) -> Iterator[RecordedFile]:
    """Yield every file of a folder and those below it in the order of their names; of a file, that one.

    Links to folders are not followed, and what is neither file nor folder is not opened: reading it may never end.

    Raises:
        OSError: the folder cannot be read.
    """
    if path.is_dir():
        os.scandir(path).close()
        found = [(shown(os.path.relpath(place, path)), place, why) for place, why in _walk(path)]
    else:
        found = [(shown(path.name), str(path), _not_a_file(str(path)))]
    for name, place, why in sorted(found):
        yield RecordedFile(name, trouble=why) if why else _read_file(name, place)


def shown(name: str) -> str:
    """Return a file's name as text that any encoding can take."""
    return os.fsencode(name).decode(errors="replace")


def _walk(folder: Path) -> list[tuple[str, str]]:
    """Return every place below a folder, and why it is not read."""
    found: list[tuple[str, str]] = []

    def refused(error: OSError) -> None:
        found.append((str(error.filename), _sentence(error)))

    for at, folders, files in os.walk(folder, onerror=refused):
        links = [place for name in folders if os.path.islink(place := os.path.join(at, name))]
        found += [(place, "a link to a folder, which is not followed") for place in links]
        found += [(place, _not_a_file(place)) for place in (os.path.join(at, name) for name in files)]
    return found


def _not_a_file(place: str) -> str:
    """Return why a place cannot be read as a file; nothing where it can."""
    try:
        mode = os.stat(place).st_mode
    except OSError as error:
        return "a link to nothing" if os.path.islink(place) else _sentence(error)
    return "" if stat.S_ISREG(mode) else "no regular file"


def _sentence(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


def _read_file(name: str, place: str) -> RecordedFile:
    try:
        with open(place, "rb") as file:
            content = file.read(LARGEST_B + 1)
    except OSError as error:
        return RecordedFile(name, trouble=_sentence(error))
    if len(content) > LARGEST_B:
        return RecordedFile(name, trouble=f"larger than {LARGEST_B // 2**20} MiB")
    try:
        recordings, trouble = _recordings(content)
    except UnreadableError as error:
        return RecordedFile(name, trouble=str(error))
    except Exception as error:  # the edge of the loop: one file must not hide the others
        return RecordedFile(
            name, trouble=f"a fault of Ratchet, please report it: {type(error).__name__}: {error}"
        )
    return RecordedFile(name, recordings, trouble)


def _recordings(content: bytes) -> tuple[tuple[Recording, ...], str]:
    """Return what the outputs in a file tell, and what is wrong with the others.

    Raises:
        UnreadableError: it is a known tool's output, but broken, or an archive.
    """
    text = decoded(unpacked(content, LARGEST_B))
    if text is None or not text.strip():
        return (), UNKNOWN
    first_trouble = ""
    for parts in outputs(text):
        troubles: list[str] = []
        found = [recording for part in parts if (recording := _read(part, troubles)) is not None]
        if found:
            return tuple(found), "; ".join(troubles)
        first_trouble = first_trouble or "; ".join(troubles)
    return (), first_trouble or UNKNOWN


def _read(text: str, troubles: list[str]) -> Recording | None:
    try:
        return read(text)
    except RecursionError:
        return None  # brackets within brackets, a thousand times: nothing that a device's tool prints
    except UnreadableError as error:
        troubles.append(str(error))
        return None
