"""Writes the dashboards as JSON: `python -m dashboards.grafana` into this folder, or elsewhere for another address."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.grafana.boards import ALL
from dashboards.grafana.parts import ADDRESS

BUILT = Path(__file__).parent / "built"


def documents(address: str = ADDRESS) -> dict[str, str]:
    """Return every dashboard as JSON text, by the name of its file; links lead to Ratchet's pages at `address`."""
    return {f"{uid}.json": _text(make(address).build()) for uid, make in ALL.items()}


def _text(dashboard: Any) -> str:
    """Return a dashboard's JSON with an id for each panel, in their order, and none for itself: Grafana gives that."""
    for number, panel in enumerate(dashboard.panels, 1):
        panel.id_val = number
    plain = json.loads(JSONEncoder().encode(dashboard))
    return json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.grafana", description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=BUILT, help="the folder; by default the one that is checked in"
    )
    parser.add_argument(
        "--address", default=ADDRESS, help="where Ratchet's pages are, as people's browsers see it"
    )
    chosen = parser.parse_args()
    chosen.into.mkdir(parents=True, exist_ok=True)
    for name, text in documents(chosen.address.rstrip("/")).items():
        (chosen.into / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
