from pathlib import Path

import pytest

from app.domain.errors import SettingsError
from app.settings import decode_settings, read_settings

GOOD = Path(__file__).parents[2] / "data" / "settings" / "good"
MINIMAL = (GOOD / "minimal.toml").read_bytes()
LIMIT = 1 << 20


def refusal(data: bytes) -> str:
    with pytest.raises(SettingsError) as error:
        read_settings(decode_settings(data))
    return str(error.value)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + MINIMAL,
        MINIMAL.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + MINIMAL.replace(b"\n", b"\r\n"),
        MINIMAL.rstrip(b"\n"),
        MINIMAL + b"#" * (LIMIT - len(MINIMAL)),
    ],
    ids=["byte order mark", "CRLF", "both", "no end of line", "just within the limit"],
)
def test_file_saved_in_another_way_means_the_same(data):
    assert read_settings(decode_settings(data)) == read_settings(MINIMAL.decode())


def test_text_with_a_byte_order_mark_means_the_same_when_it_was_decoded_elsewhere():
    assert read_settings("\ufeff" + MINIMAL.decode()) == read_settings(MINIMAL.decode())


def test_line_of_a_problem_counts_crlf_as_one_end_of_line():
    assert refusal(MINIMAL.replace(b"benchmarks =", b"bench =").replace(b"\n", b"\r\n")).startswith(
        "ratchet.toml:6: "
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            MINIMAL + b'setup = ["caf\xe9"]\n',
            "ratchet.toml:7: byte 0xe9 is not UTF-8; save the file as UTF-8",
        ),
        (
            MINIMAL.decode().encode("utf-16"),
            "ratchet.toml:1: the file is UTF-16; save it as UTF-8",
        ),
        (
            b"[project]\n\0\n",
            "ratchet.toml:2: a NUL character; a settings file is plain text",
        ),
        (
            MINIMAL + b"#" * LIMIT,
            f"ratchet.toml:1: {LIMIT + len(MINIMAL)} bytes; a settings file has at most 1048576 (1 MiB)",
        ),
        (
            MINIMAL + b"setup = " + b"[" * 100_000,
            "ratchet.toml:1: lists or tables are nested too deeply to be read",
        ),
        (
            b"[gate]\ntolerance = " + b"9" * 5000,
            "ratchet.toml:1: a number has too many digits to be read",
        ),
        (
            b"[gate]\n" + b"a." * 101 + b"b = 1",
            "ratchet.toml:2: over 100 dots in one line; spread its values over several lines",
        ),
        (
            b"[gate]\x0ctolerance = 1",
            "ratchet.toml:1: not valid TOML at column 7: Expected newline or end of document after "
            "a statement; the line reads `[gate]\\x0ctolerance = 1`",
        ),
    ],
    ids=[
        "latin-1",
        "UTF-16",
        "NUL",
        "too large",
        "too deep",
        "too many digits",
        "too many dots",
        "form feed",
    ],
)
def test_file_that_is_no_text_or_no_toml_is_refused_with_its_line(data, message):
    assert refusal(data) == message


def test_text_is_held_to_the_same_limit_as_bytes():
    with pytest.raises(SettingsError, match="at most 1048576"):
        read_settings("#" * (LIMIT + 1))


def test_text_with_a_lone_surrogate_is_refused():
    with pytest.raises(SettingsError, match=r"ratchet\.toml:2: a lone surrogate"):
        read_settings("\n# \ud800")


def test_messages_use_the_name_that_the_caller_gives_the_file():
    with pytest.raises(SettingsError) as error:
        read_settings("", name="acme/vision@0a1b2c:ratchet.toml")
    assert str(error.value).startswith("acme/vision@0a1b2c:ratchet.toml:1: ")
    with pytest.raises(SettingsError) as error:
        decode_settings(b"\xff", name="here")
    assert str(error.value).startswith("here:1: ")
