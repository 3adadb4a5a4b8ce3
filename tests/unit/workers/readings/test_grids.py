import re

import pytest

from workers.readings.grids import grids

WIDE = """\
Title
+------+-------+
| name | value |
+------+-------+
| a    | 1|2   |
| b    | 3     |
+------+-------+
"""


def only(text):
    (grid,) = grids(text)
    return grid


def test_a_table_has_its_title_columns_and_rows():
    grid = only(f"a warning\n\n{WIDE}")
    assert (grid.title, grid.columns, grid.line) == ("Title", ["name", "value"], 4)
    assert grid.rows == [["a", "1|2"], ["b", "3"]]


def test_a_bar_within_a_cell_is_text():
    assert only(WIDE).rows[0] == ["a", "1|2"]


def test_markdown_is_a_table():
    grid = only("| name | value |\n|:-----|------:|\n| a    |     1 |\n\n")
    assert (grid.columns, grid.rows, grid.closed) == (["name", "value"], [["a", "1"]], True)


def test_a_box_is_a_table():
    grid = only("┏━━━━┳━━━┓\n┃ on ┃ n ┃\n┡━━━━╇━━━┩\n│ a  │ 1 │\n└────┴───┘\n")
    assert (grid.columns, grid.rows, grid.closed) == (["on", "n"], [["a", "1"]], True)


def test_a_box_without_inner_bars_is_split_at_gaps():
    grid = only("┏━━━━━┳━━━┓\n┃ a b  n ┃\n┡━━━━━╇━━━┩\n│ x y  1 │\n└─────┴───┘\n")
    assert (grid.columns, grid.rows) == (["a b", "n"], [["x y", "1"]])


def test_the_lines_of_a_head_are_one():
    grid = only("+-------+---+\n| CORE  | N |\n| COUNT |   |\n+-------+---+\n| a     | 1 |\n+-------+---+\n")
    assert grid.columns == ["CORE COUNT", "N"]
    assert grid.column(re.compile("core count", re.IGNORECASE)) == 0
    assert grid.column(re.compile("core")) is None


@pytest.mark.parametrize("end", [4, 5, 6])
def test_a_table_without_its_last_line_is_not_closed(end):
    assert not only("".join(WIDE.splitlines(keepends=True)[:end])).closed


def test_a_row_that_was_cut_is_left_out():
    assert only(WIDE[: WIDE.index("3     |") + 1]).rows == [["a", "1|2"]]


def test_a_rule_without_a_row_is_no_table():
    assert grids("======\n+----+\nword\n") == []


def test_text_in_a_frame_is_no_table():
    assert grids("╭─ Note ─╮\n│ a word │\n╰────────╯\n") == []


def test_tables_follow_each_other():
    assert [grid.title for grid in grids(WIDE + WIDE.replace("Title", "Next"))] == ["Title", "Next"]
