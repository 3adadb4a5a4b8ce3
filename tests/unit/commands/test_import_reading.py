"""The files of an import, of which little is in memory at a time."""

from __future__ import annotations

import json
import os
import threading
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.commands.import_reading import ImportFiles
from app.formats.imported.documents import ImportWishes, PreparedDocument, Preparing

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TIME = "2026-01-31T12:00:00+00:00"


def document(number: int, n_results: int = 1, **fields: Any) -> dict[str, Any]:
    results = [
        {"benchmark": f"b{i}", "metric": "m", "unit": "s", "better": "lower", "values": [0.1, 0.2]}
        for i in range(n_results)
    ]
    told = {"project": "p", "commit": f"{number:040x}", "time": TIME, "device_class": "d"}
    return told | {"results": results} | fields


def lines(*documents: dict[str, Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in documents)


def read(*paths: Path) -> tuple[ImportFiles, list[PreparedDocument]]:
    files, taken = ImportFiles(paths, Preparing(ImportWishes("acme/vision"), NOW)), list[PreparedDocument]()
    files.read(taken.append)
    return files, taken


def peak_of(path: Path) -> int:
    """Return how many bytes more there are at a time while the file is read."""
    files = ImportFiles([path], Preparing(ImportWishes("acme/vision"), NOW))
    tracemalloc.start()
    try:
        files.read(lambda document: None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_that_of_a_line_and_not_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(lines(*(document(i, 30) for i in range(3))))
    peak_of(path)  # what is imported and kept once
    few = peak_of(path)
    path.write_text(lines(*(document(i, 30) for i in range(40))))
    assert peak_of(path) < 3 * few


def test_memory_of_a_folder_is_that_of_its_largest_file(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / f"{i}.json").write_text(json.dumps(document(i, 30)))
    peak_of(tmp_path / "0.json")
    one = peak_of(tmp_path / "0.json")
    assert peak_of(tmp_path) < 3 * one


def test_what_a_large_document_says_is_never_there_all_at_once(tmp_path: Path) -> None:
    benches = [{"name": f"b{i}", "value": i, "unit": "ns"} for i in range(20)]
    entry = {"commit": {"id": "ab" * 20, "timestamp": TIME}, "date": 1, "tool": "cargo", "benches": benches}
    script = f"window.BENCHMARK_DATA = {json.dumps({'entries': {'Rust': [entry] * 200}})}"
    path = tmp_path / "data.js"
    path.write_text(script)
    peak_of(path)
    peak = peak_of(path)
    tracemalloc.start()
    held = json.loads(script.partition("= ")[2])
    document_b = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(held["entries"]["Rust"]) == 200
    assert peak < 1.5 * (document_b + len(script))


def test_places_in_lines_are_those_of_the_documents_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    bad = document(2)
    bad["results"][0]["values"] = ["fast"]
    path.write_text(lines(document(1), bad, {"mark": "x"}, document(3), {"end": {}}))
    files, taken = read(path)
    assert [one.places for one in taken] == [["[0].results[0]"], ["[3].results[0]"]]
    assert [one.place for one in files.preparing.refused] == ["[1].results[0]"]
    assert files.formats == {"ratchet": 1}


def test_nothing_of_lines_comes_in_where_one_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(lines(document(1), document(2))[:-20])
    files, taken = read(path)
    assert taken == []
    (refused,) = files.preparing.refused
    assert (refused.file, refused.place) == (str(path), "the file")
    assert "line 2, column" in refused.message


def test_results_of_a_line_each_are_put_together_where_only_all_of_them_say_what_a_run_was(
    tmp_path: Path,
) -> None:
    path = tmp_path / "conbench.jsonl"
    commit = {"sha": "ab" * 20, "timestamp": TIME}
    told = [
        {"tags": {"name": name}, "stats": {"data": [1], "unit": "s"}, "run_id": "r", "commit": commit}
        for name in ("a", "b")
    ]
    path.write_text(lines(*told))
    _, (only,) = read(path)
    assert [one["benchmark"] for one in only.body["results"]] == ["a", "b"]


def test_what_comes_out_of_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(lines(document(1), document(2)),))
    writer.start()
    _, taken = read(path)
    writer.join()
    assert len(taken) == 2
