"""What stands around an output on a terminal and in notes is no part of it, whichever tool it is of."""

import pytest

from tests.unit.workers.readings.cutting import FIXTURES
from workers.readings import read

OUTPUTS = [
    "amd-smi/metric-6.4.txt",
    "amd-smi/monitor-6.2.txt",
    "amd-smi/process-6.4.txt",
    "amd-smi/watch-6.1.json",
    "dcgm-exporter/mig.prom",
    "nvidia-smi/capture-mig.txt",
    "nvidia-smi/dmon-dated.txt",
    "nvidia-smi/driver390-table.txt",
    "nvidia-smi/driver390-two-gpus.xml",
    "nvidia-smi/driver610-query-mig.txt",
    "nvidia-smi/list-mig.txt",
    "nvidia-smi/loop-two-gpus.csv",
    "nvidia-smi/pmon.txt",
    "rocm-smi/all-6.3.json",
    "rocm-smi/concise-6.4.txt",
    "rocm-smi/log-5.6.txt",
    "rocm-smi/use-6.1.csv",
    "rocminfo/mi300-6.3.txt",
    "superbench/two-gpus.jsonl",
]


def lines(text, before):
    return "".join(f"{before}{line}\n" for line in text.splitlines())


WRAPPED = {
    "after a prompt": lambda text: f"$ tool --query=a,b --format=csv\n{text}",
    "between prompts": lambda text: f"(base) [me@host dir]$ tool\n{text}(base) [me@host dir]$ exit\n",
    "before the prompt of root": lambda text: f"{text}root@host:~# ",
    "in PowerShell": lambda text: f"PS C:\\Users\\me> tool.exe\n{text}\nPS C:\\Users\\me> ",
    "in Markdown": lambda text: (
        f"# Machine\n\nAs it is, today:\n\n```shell\n{text}```\n\nAnd so on, they say.\n"
    ),
    "in a quotation": lambda text: lines(text, "    "),
    "in a quotation of tabs": lambda text: lines(text, "\t"),
    "of watch": lambda text: f"Every 2.0s: tool                    host: Mon Nov  2 08:00:00 2026\n\n{text}",
    "after a warning": lambda text: f"WARNING: the log is full, see there\n{text}",
    "in colours": lambda text: "\x1b[H\x1b[2J" + text.replace("GPU", "\x1b[1mGPU\x1b[0m"),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_read_alike_whatever_stands_around_it(name, wrap):
    text = (FIXTURES / name).read_text()
    text = text if text.endswith("\n") else f"{text}\n"
    assert read(wrap(text)) == read(text)


@pytest.mark.parametrize("name", ["rocm-smi/all-6.3.json", "rocminfo/mi300-6.3.txt"])
def test_an_output_behind_the_prefixes_of_a_log_is_not_taken_for_one_that_tells_nothing(name):
    assert read(lines((FIXTURES / name).read_text(), "smi-1  | ")) is None
