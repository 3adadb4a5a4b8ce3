"""Files that go with those of an import: read once, and damaged ones keep out what they go with."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.commands.import_companions import Companions
from app.commands.import_reading import ImportFiles
from app.formats.imported.documents import ImportWishes, PreparedDocument, Preparing

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NAME = "benchmarks.json"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two trees of asv, each with a file of two machines."""
    for machine in ("one/a", "one/b", "two/a", "two/b"):
        place = tmp_path / machine
        place.mkdir(parents=True)
        told = {"commit_hash": "ab" * 20, "date": 1_500_000_000_000, "results": {"s.time_x": 0.5}}
        (place / "1.json").write_text(json.dumps(told))
        (place / "machine.json").write_text("{}")
    for folder in ("one", "two"):
        (tmp_path / folder / NAME).write_text("{}")
    return tmp_path


def read(*paths: Path) -> tuple[Preparing, list[PreparedDocument]]:
    files, taken = ImportFiles(paths, Preparing(ImportWishes("acme/vision"), NOW)), list[PreparedDocument]()
    files.read(taken.append)
    return files.preparing, taken


def test_all_files_come_in_with_their_companions(tree: Path) -> None:
    preparing, taken = read(tree)
    assert (len(taken), preparing.refused, preparing.noted) == (4, [], {})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"cut": ', "not JSON"),
        ("", "not JSON"),
        ("[1]", "it is a list; expected an object"),
        ("\x1f", "not JSON"),
    ],
)
def test_damaged_companion_keeps_out_what_it_goes_with_and_is_told_once(
    tree: Path, written: str, message: str
) -> None:
    (tree / "one" / NAME).write_text(written)
    single = sorted(tree.glob("*/*/1.json"))
    for paths in ([tree], single, [tree, tree], [tree / "one" / NAME, tree]):
        preparing, taken = read(*paths)
        (refused,) = preparing.refused
        assert refused.file == str(tree / "one" / NAME)
        assert refused.message.startswith(message)
        n = 4 if paths == [tree, tree] else 2
        assert refused.message.endswith(f"; {n} files that it goes with stayed out")
        assert {Path(document.file).parts[-3] for document in taken} == {"two"}


def test_damaged_companion_stands_first_among_what_is_refused(tree: Path) -> None:
    (tree / "one" / "a" / "0.json").write_text("{")
    (tree / "two" / NAME).write_text("{")
    preparing, _ = read(tree)
    assert [Path(one.file).name for one in preparing.refused] == [NAME, "0.json"]


def test_file_without_its_companion_comes_in_and_is_noted(tree: Path) -> None:
    (tree / "one" / NAME).unlink()
    preparing, taken = read(tree)
    assert (len(taken), preparing.refused) == (4, [])
    ((note, n),) = preparing.noted.items()
    assert (note.startswith("without benchmarks.json"), n) == (True, 2)


def test_companion_that_is_named_among_others_is_no_history_and_is_not_refused(tree: Path) -> None:
    preparing, taken = read(*sorted((tree / "one" / "a").glob("*.json")), tree / "one" / NAME)
    assert (len(taken), preparing.refused) == (1, [])


def test_companion_one_folder_up_is_found_from_within_the_folder(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree / "one" / "a")
    preparing, _ = read(Path("1.json"))
    assert preparing.noted == {}
    (tree / "one" / NAME).write_text("{")
    preparing, taken = read(Path("1.json"))
    assert ([one.file for one in preparing.refused], taken) == ([f"../{NAME}"], [])


def test_companion_is_read_once_and_only_the_latest_of_a_name_is_held(tree: Path) -> None:
    loaded: list[Path] = []

    def load(place: Path) -> dict[str, str]:
        loaded.append(place)
        return {"is": str(place)}

    companions = Companions(load)
    for path in sorted(tree.glob("*/*/1.json")):
        found = companions.of(path, [NAME])
        assert found == {NAME: {"is": str(path.parent.parent / NAME)}}
    assert loaded == [tree / "one" / NAME, tree / "two" / NAME]
    assert len(companions._contents) == 1
