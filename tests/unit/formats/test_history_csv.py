"""Histories as CSV: what is taken, and what every bad row is told."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import DataError
from app.formats import csv_columns
from app.formats.history_csv import Histories, read_histories

HEADER = "series,x,value\n"


def read(text: str | bytes) -> Histories:
    return read_histories(text if isinstance(text, bytes) else text.encode(), "a.csv")


def as_dict(histories: Histories) -> dict[str, list[tuple[int, float]]]:
    found = {}
    for index, name in enumerate(histories.names):
        rows = histories.rows(index)
        found[name] = list(zip(histories.x[rows].tolist(), histories.values[rows].tolist(), strict=True))
    return found


def refusal(text: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(text)
    return str(caught.value)


ONE = {"a": [(1, 10.0), (2, 11.5)]}


@pytest.mark.parametrize(
    "text",
    [
        "series,x,value\na,1,10\na,2,11.5\n",
        "series,x,value\na,1,10\na,2,11.5",
        "series,x,value\r\na,1,10\r\na,2,11.5\r\n",
        "series,x,value\ra,1,10\ra,2,11.5\r",
        "\ufeffseries,x,value\na,1,10\na,2,11.5\n",
        "\ufeff\n\nseries,x,value\na,1,10\na,2,11.5\n",
        "value,series,x\n10,a,1\n11.5,a,2\n",
        "x,value,series\n1,10,a\n2,11.5,a\n",
        "x,value,series\r\n1,10,a\r\n2,11.5,a\r\n",
        "commit,series,who,x,value,note\nc1,a,me,1,10,\nc2,a,,2,11.5,hm\n",
        "series,x,value,note\na,1,10\na,2,11.5\n",
        "series,x,value\n\na,1,10\n\n\na,2,11.5\n\n",
        "series,x,value\na,1,10,\na,2,11.5,,\n",
        '"series","x","value"\n"a","1","10"\n"a","2","11.5"\n',
        " series , x , value \na, 1, 10\na, 2, 1.15e1 \n",
        "series,x,value\na,+1,10.\na,02,+11.5\n",
    ],
)
def test_every_usual_form_of_a_file_reads_the_same(text: str):
    assert as_dict(read(text)) == ONE


def test_interleaved_series_keep_their_order_and_gaps_and_come_in_the_order_of_their_first_rows():
    found = as_dict(read(HEADER + "b,5,1\na,-3,2\nb,9,3\na,7,4\nc,0,5\n"))
    assert found == {"b": [(5, 1.0), (9, 3.0)], "a": [(-3, 2.0), (7, 4.0)], "c": [(0, 5.0)]}
    assert list(found) == ["b", "a", "c"]


def test_quoted_names_may_hold_commas_quotes_and_line_breaks():
    assert list(as_dict(read(HEADER + '"p50, batch ""32""\nfp16",1,2\n'))) == ['p50, batch "32"\nfp16']


def test_names_are_taken_as_they_are():
    names = [" a", "a", "日本語", "=1+1", "a'b", "\ufeffx"]
    assert list(as_dict(read(HEADER + "".join(f"{name},1,2\n" for name in names)))) == names


def test_file_with_a_header_alone_has_no_series():
    assert len(read(HEADER)) == 0
    assert read("series,x,value").values.shape == (0,)


def test_values_keep_every_bit():
    values = [0.1, 1e-310, 1.7976931348623157e308, -0.0, 123456789.12345679]
    text = HEADER + "".join(f"a,{x},{value!r}\n" for x, value in enumerate(values))
    assert read(text).values.tobytes() == np.array(values).tobytes()


def test_series_over_many_chunks_is_read_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(csv_columns, "CHUNK_B", 64)
    monkeypatch.setattr(csv_columns, "CHUNK_ROWS", 7)
    rows = [(name, x, x * 1.5) for x in range(100) for name in ("a", "bb")]
    plain = HEADER + "".join(f"{name},{x},{value}\n" for name, x, value in rows)
    quoted = HEADER + "".join(f'"{name}",{x},{value}\n' for name, x, value in rows)
    wanted = {name: [(x, v) for n, x, v in rows if n == name] for name in ("a", "bb")}
    assert as_dict(read(plain)) == as_dict(read(quoted)) == wanted


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("a,2,abc", 'value is "abc"; write a finite number such as 12.5'),
        ("a,2,nan", 'value is "nan"; write a finite number such as 12.5'),
        ("a,2,-inf", 'value is "-inf"; write a finite number such as 12.5'),
        ("a,2,1e999", 'value is "1e999"; write a finite number such as 12.5'),
        ("a,2,1_000", 'value is "1_000"; write a finite number such as 12.5'),
        ("a,2,٣", 'value is "\\u0663"; write a finite number such as 12.5'),
        ("a,2,0x10", 'value is "0x10"; write a finite number such as 12.5'),
        ("a,2,12 ms", 'value is "12 ms"; write a finite number such as 12.5'),
        ("a,2,", "value is empty; write a number, or leave the row out"),
        ("a,2.0,1", 'x is "2.0"; write an integer such as 12'),
        ("a,1e3,1", 'x is "1e3"; write an integer such as 12'),
        ("a,1_0,1", 'x is "1_0"; write an integer such as 12'),
        ("a,,1", "x is empty; write an integer"),
        (f"a,{2**63},1", f'x is "{2**63}"; write an integer from {-(2**63)} to {2**63 - 1}'),
        (f"a,{'9' * 5000},1", "write an integer from"),
        (",2,1", "series is empty; write its name"),
        ("  ,2,1", "series is empty; write its name"),
        ("a,1,1", "x is 1 after 1 (line 2); within a series x must ascend, so sort its rows by x"),
        ("a,0,1", "x is 0 after 1 (line 2); within a series x must ascend"),
        ("a", "1 field and none for x and value; each column of the header needs one"),
        ("a,2", "2 fields and none for value"),
        ("a,2,1,5", "4 fields for 3 columns; put a name with commas in quotes"),
        ('a,2,"1', "a quote is opened and never closed"),
        ('"a"b,2,1', "no CSV ("),
        ("a,x,y", 'x is "x"; write an integer such as 12, and value is "y"; write a finite'),
    ],
)
def test_bad_row_is_told_with_its_line_what_was_found_and_what_would_be_right(row: str, told: str):
    message = refusal(f"{HEADER}a,1,10\nb,1,10\n{row}\n")
    assert message.startswith("1 bad row in a.csv; nothing was judged\n  line 4: ")
    assert told in message


def test_bad_rows_are_all_listed_by_the_line_on_which_they_begin():
    text = HEADER + 'a,1,1\n"two\nlines",1,bad\n\na,2,bad\na,3,1\nb,x,1\n'
    assert [line.split(":")[0].strip() for line in refusal(text).splitlines()[1:]] == [
        "line 3",
        "line 6",
        "line 8",
    ]


def test_only_the_first_fifty_bad_rows_are_listed_and_the_others_counted():
    message = refusal(HEADER + "".join(f"a,{x},bad\n" for x in range(1234)))
    lines = message.splitlines()
    assert lines[0] == "1234 bad rows in a.csv; nothing was judged"
    assert len(lines) == 52
    assert lines[50].startswith("  line 51: ")
    assert lines[51] == "  and 1184 more"


def test_descending_x_within_one_series_of_interleaved_ones_is_found():
    message = refusal(HEADER + "a,1,1\nb,9,1\na,5,1\nb,8,1\na,6,1\n")
    assert "line 5: x is 8 after 9 (line 3)" in message
    assert message.startswith("1 bad row")


def test_message_shows_nothing_that_steers_a_terminal():
    assert "\x1b" not in refusal(HEADER + "a,1,\x1b[2J\n")
    assert len(refusal(HEADER + f"a,1,{'z' * 9999}\n")) < 300


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "a.csv is empty; it must begin with series,x,value"),
        (b"\n\n\r\n", "a.csv is empty"),
        (b"\xef\xbb\xbf", "a.csv is empty"),
        (b"series,x\na,1\n", 'the header is "series,x", without the column value'),
        (b"a,1,2\n", 'the header is "a,1,2", without the column series'),
        (b"Series,X,Value\n", "without the column series"),
        (b"series;x;value\na;1;2\n", 'separate columns by commas, not by ";"'),
        (b"series\tx\tvalue\na\t1\t2\n", 'separate columns by commas, not by "\\t"'),
        (b"series,x,value,x\n", "the header has the column x more than once"),
        (b'series,x,"value\n', "a quote is opened and never closed in the header"),
        (b"series,x,value\na,1,2\n\xff,2,3\n", "a.csv, line 3: byte 0xff is not UTF-8"),
        ("series,x,value\né,1,2\n".encode("latin-1"), "line 2: byte 0xe9 is not UTF-8"),
        ("series,x,value\na,1,2\n".encode("utf-16"), "a.csv is UTF-16; save it as UTF-8"),
        (b"series,x,value\na,1,2\0\n", "a.csv, line 2: a NUL byte"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "a.csv, line 1: a NUL byte"),
    ],
)
def test_file_that_is_no_such_file_is_refused_with_the_reason(data: bytes, told: str):
    assert told in refusal(data)


FIELDS = st.sampled_from(
    ["a", "b", "", " ", "1", "2", "3", "1.5", "nan", "x,y", 'q"q', "two\nlines", "é", "_"]
)
ROWS = st.lists(st.lists(FIELDS, max_size=5), max_size=8)


def read_or_refusal(text: str) -> dict[str, list[tuple[int, float]]] | str:
    try:
        return as_dict(read(text))
    except DataError as error:
        return str(error)


@given(
    rows=ROWS,
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(max_examples=300, deadline=None)
def test_any_rows_are_either_read_as_the_csv_module_reads_them_or_have_a_bad_row(rows, end, quoting):
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([["series", "x", "value"], *rows])
    found = read_or_refusal(text.getvalue())
    if isinstance(found, str):
        assert "  line " in found
        return
    reader = csv.reader(io.StringIO(text.getvalue(), newline=""))
    wanted: dict[str, list[tuple[int, float]]] = {}
    for name, x, value, *_ in filter(None, list(reader)[1:]):
        wanted.setdefault(name, []).append((int(x), float(value)))
    assert found == wanted


@given(text=st.text(alphabet='a1,"\n\r .', max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused_with_a_line(text: str):
    found = read_or_refusal(HEADER + text)
    assert isinstance(found, dict) or "  line " in found
