"""Base and head as CSV: what is taken, and what every bad row is told."""

from __future__ import annotations

import pytest

from app.domain.errors import DataError
from app.formats.comparison_csv import read_comparison

HEADER = "benchmark,side,block,value\n"


def read(text: str) -> dict[str, tuple[list, list]]:
    found = read_comparison(text.encode(), "a.csv")
    return {name: (both.base, both.head) for name, both in found.items()}


def refusal(text: str) -> str:
    with pytest.raises(DataError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "k,base,1,10\nk,head,1,11\nk,base,2,10.5\n",
        "value,block,host,side,benchmark\n10,1,h,base,k\n11,1,h,head,k\n10.5,2,h,base,k\n",
        "\ufeff" + HEADER.replace("\n", "\r\n") + '"k",base,"1",10\r\nk,head,1,11\r\n\r\nk,base,2,10.5',
    ],
)
def test_every_usual_form_of_a_file_reads_the_same(text: str):
    assert read(text) == {"k": ([("1", 10.0), ("2", 10.5)], [("1", 11.0)])}


def test_blank_blocks_are_none_and_may_be_many():
    assert read(HEADER + "k,base,,1\nk,base, ,2\nk,head,,3\n") == {
        "k": ([(None, 1.0), (None, 2.0)], [(None, 3.0)])
    }


def test_benchmarks_come_in_the_order_of_their_first_rows_and_may_lack_a_side():
    assert read(HEADER + "b,head,1,1\na,base,1,2\nb,head,2,3\n") == {
        "b": ([], [("1", 1.0), ("2", 3.0)]),
        "a": ([("1", 2.0)], []),
    }


def test_file_with_a_header_alone_has_no_benchmark():
    assert read(HEADER) == {}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("k,Base,2,1", 'side is "Base"; write base or head'),
        ("k,,2,1", 'side is ""; write base or head'),
        (",base,2,1", "benchmark is empty; write its name"),
        ("k,base,2,nan", 'value is "nan"; write a finite number'),
        ("k,base,1,5", 'block "1" has a value of base in line 2 already; give each pair a block of its own'),
        ("k,base", "2 fields and none for block and value"),
        ("k,base,2,1,5", "5 fields for 4 columns"),
        ("k,both,2,x", 'side is "both"; write base or head, and value is "x"'),
    ],
)
def test_bad_row_is_told_with_its_line_what_was_found_and_what_would_be_right(row: str, told: str):
    message = refusal(f"{HEADER}k,base,1,10\nk,head,1,10\n{row}\n")
    assert message.startswith("1 bad row in a.csv; nothing was judged\n  line 4: ")
    assert told in message


def test_same_block_of_the_other_side_or_of_another_benchmark_is_no_fault():
    assert len(read(HEADER + "k,base,1,10\nk,head,1,10\nm,base,1,10\nm,head,1,10\n")) == 2


@pytest.mark.parametrize("column", ["benchmark", "side", "block", "value"])
def test_header_without_a_column_names_it(column: str):
    header = ",".join(name for name in HEADER.strip().split(",") if name != column)
    assert f"without the column {column}; it must have benchmark,side,block,value" in refusal(f"{header}\n")
