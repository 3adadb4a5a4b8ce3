"""The kit is frozen: these tests go red when a file of it changes, and that is what they are for."""

from workers import control
from workers.control import FOLDER, FROZEN, control_version, digest_of

VERSION = "b0c53c3ff6208012ce05318976317362602743186297dc7b177244fda1758979"
"""Of the kit as it is released. A new one begins new series on every device: see docs/control.md first."""


def test_the_kit_is_the_one_that_was_released():
    assert control_version() == VERSION


def test_every_file_of_the_kit_but_the_one_that_digests_it_is_frozen():
    there = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py")}
    assert there - {"__init__.py"} == set(FROZEN)


def test_the_version_follows_from_names_contents_and_order():
    files = [("a.py", b"1"), ("b.py", b"2")]
    others = [
        files[::-1],
        [("a.py", b"1")],
        [("a.py", b"12"), ("b.py", b"")],
        [("a.py", b"1"), ("c.py", b"2")],
    ]
    assert len({digest_of(files), *map(digest_of, others)}) == 1 + len(others)
    assert digest_of(iter(files)) == digest_of(files)


def test_the_version_is_that_of_the_files_on_disk(tmp_path, monkeypatch):
    for name in FROZEN:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    monkeypatch.setattr(control, "FOLDER", tmp_path)
    assert control_version() == VERSION
    (tmp_path / "pacing.py").write_bytes((FOLDER / "pacing.py").read_bytes() + b"\n")
    assert control_version() != VERSION
