import pytest

from tests.unit.workers.readings.cutting import assert_every_cut_tells_nothing_else, fixtures
from workers.readings import read
from workers.readings.jetson.nvpmodel import PowerMode, parse, recognises
from workers.readings.reader import UnreadableError


@pytest.mark.parametrize("path", fixtures("nvpmodel"), ids=lambda path: path.name)
def test_an_answer_that_ends_anywhere_tells_nothing_else(path):
    assert_every_cut_tells_nothing_else(path)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("NV Power Mode: MAXN\n0\n", PowerMode("MAXN", 0)),
        ("NV Power Mode: MAXN_SUPER\n2", PowerMode("MAXN_SUPER", 2)),
        ("NV Power Mode : 15W\r\n1\r\n", PowerMode("15W", 1)),
        ("NVPM VERB: Current mode: NV Power Mode: 40W\n4\nNVPM VERB: PARAM", PowerMode("40W", 4)),
        ("NV Power Mode: 25W\nNVPM VERB: no number here\n", PowerMode("25W", None)),
        ("    NV Power Mode: 7W\n    3\n", PowerMode("7W", 3)),
        ("NV Power Mode: MODE_15W", None),
    ],
)
def test_the_mode_is_a_name_and_a_number(text, mode):
    assert parse(text) == mode


@pytest.mark.parametrize(
    "text",
    [
        "NVPM ERROR: Error opening /var/lib/nvpmodel/status: 13\nNVPM ERROR: failed to read PMODE status!\n",
        "NVPM VERB: Config file: /etc/nvpmodel.conf\nNVPM VERB: POWER_MODEL: ID=0 NAME=MAXN\n",
        "NV Power Mode: MODE_15W",
    ],
)
def test_an_answer_without_a_whole_mode_is_unreadable(text):
    with pytest.raises(UnreadableError, match="no whole line 'NV Power Mode: NAME'"):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "SOC family:tegra210  Machine:jetson-nano\nGPU MinFreq=76800000\nNV Power Mode: MAXN\n",
        "the line `NV Power Mode: MAXN` is looked for\n",
        "",
    ],
)
def test_other_texts_are_not_recognised(text):
    assert not recognises(text)


def test_what_tegrastats_says_in_the_same_file_is_its_own():
    found = read("NV Power Mode: MAXN\n0\nRAM 1/2MB (lfb 5x4MB) CPU [1%@100,off] GR3D_FREQ 7%\n")
    assert found.tool == "tegrastats"
