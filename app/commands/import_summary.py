"""What came of an import, as one JSON object and as people read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.commands.import_posting import Posted
from app.commands.import_reading import ImportFiles
from app.formats.imported.documents import ImportWishes, PreparedDocument, Refused
from app.formats.imported.wording import counted, on_one_line, readable

_LAST_DAY = "9999-12-31"
_SHOWN = 20
"""Refused values and unknown files that are listed; `--json` lists all."""


class Found:
    """What documents hold, before the service takes anything out of them."""

    def __init__(self) -> None:
        self.runs = self.results = 0
        self._commits, self._device_classes = set[str](), set[str]()
        self._first, self._last = _LAST_DAY, ""

    def add(self, document: PreparedDocument) -> None:
        """Take note of a document."""
        body = document.body
        self.runs += 1
        self.results += len(document.places)
        self._commits.add(body["commit"])
        self._device_classes.add(body["device_class"])
        day = body.get("time", body["measured_at"])[:10]
        self._first, self._last = min(self._first, day), max(self._last, day)

    def told(self) -> dict[str, Any]:
        """Return it as the summary tells it."""
        return {
            "runs": self.runs,
            "commits": len(self._commits),
            "first": self._first if self.runs else None,
            "last": self._last or None,
            "device_classes": sorted(self._device_classes),
            "results": self.results,
        }


def import_document(
    wishes: ImportWishes,
    files: ImportFiles,
    found: Found,
    posted: Posted | None,
) -> dict[str, Any]:
    """Return what came of an import; `found` is what the files held, `posted` None where nothing was to be stored."""
    preparing = files.preparing
    return {
        "project": wishes.project,
        "dry_run": posted is None,
        "formats": dict(files.formats),
        **found.told(),
        "stored": posted.stored if posted else 0,
        "known": posted.known if posted else 0,
        "refused": [_told(one) for one in preparing.refused],
        "left_out": dict(preparing.left_out),
        "noted": dict(preparing.noted),
        "unknown_files": files.unknown,
    }


def _told(one: Refused) -> dict[str, Any]:
    return vars(one) | {"place": readable(one.place), "message": readable(one.message)}


def import_summary(document: dict[str, Any]) -> str:
    """Return the summary as people read it."""
    formats = ", ".join(f"{name}: {counted(n, 'file')}" for name, n in document["formats"].items())
    lines = [formats] if formats else []
    if document["first"]:
        lines += [
            f"{counted(document['results'], 'result')} of {counted(document['commits'], 'commit')}, "
            f"{document['first']} to {document['last']}, on {', '.join(document['device_classes'])}"
        ]
    if document["dry_run"]:
        lines.append(f"nothing was stored in {document['project']}: --dry-run")
    else:
        lines.append(
            f"stored in {document['project']}: {document['stored']}; there already: {document['known']}"
        )
    lines += [f"left out: {n} {why}" for why, n in document["left_out"].items()]
    lines += [f"noted: {n} {what}" for what, n in document["noted"].items()]
    lines += _listed("of no known format", map(on_one_line, document["unknown_files"]))
    told = [f"{on_one_line(one['file'])}: {one['place']}: {one['message']}" for one in document["refused"]]
    lines += _listed("refused", told)
    if told:
        lines.append("correct what was refused and import again: what is stored is not stored twice")
    return "".join(f"{line}\n" for line in lines)


def _listed(title: str, some: Iterable[str]) -> list[str]:
    items = list(some)
    if not items:
        return []
    more = [f"  and {len(items) - _SHOWN} more (--json lists all)"] if len(items) > _SHOWN else []
    return [f"{title}: {len(items)}", *(f"  {item}" for item in items[:_SHOWN]), *more]
