"""Names of cases in two directions: what is written from right to left takes no bracket along."""

import pytest

from app.reports.case_names import case_markup, isolated_case

HELLO = "مرحبا"


@pytest.mark.parametrize(
    ("shown", "markup"),
    [
        ("resize[batch=32]", "resize[batch=32]"),
        ("<b>[a&b=1]", "&lt;b&gt;[a&amp;b=1]"),
        (HELLO, f"<bdi>{HELLO}</bdi>"),
        (
            f"{HELLO}[quote=<i>, {HELLO}=32]/time",
            f"<bdi>{HELLO}</bdi>[<bdi>quote</bdi>=<bdi>&lt;i&gt;</bdi>, <bdi>{HELLO}</bdi>=<bdi>32</bdi>]"
            "<bdi>/time</bdi>",
        ),
        (f"long{HELLO}[a=b…", f"<bdi>long{HELLO}</bdi>[<bdi>a</bdi>=<bdi>b…</bdi>"),
    ],
)
def test_every_part_of_a_case_has_its_own_direction(shown, markup):
    assert case_markup(shown) == markup


def test_in_a_sentence_every_part_is_isolated():
    assert isolated_case("resize[batch=32]") == "\u2068resize[batch=32]\u2069"
    assert isolated_case(f"{HELLO}[a=1]") == f"\u2068{HELLO}\u2069[\u2068a\u2069=\u20681\u2069]"
