"""Apache Otava (formerly Hunter) with its default options, in an environment of its own.

Otava pins numpy and scipy to versions other than ours, so `python -m benchmarks.detection --install-peers` puts it into
a virtual environment in the user's cache folder (`RATCHET_BENCH_CACHE` names another), and its detector runs there as a
process that answers one line of JSON with another. That costs about 1 ms per 1000 points, against 30 ms of its own.
"""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.cache import cache_folder
from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector, NotInstalledError

REQUIREMENTS = ("apache-otava==0.8.0", "numpy==2.2.0", "scipy==1.16.3")
SERVER = Path(__file__).with_name("otava_server.py")


def home() -> Path:
    """Return the folder of Otava's environment, which need not exist."""
    return cache_folder() / REQUIREMENTS[0].replace("==", "-")


def _python() -> Path:
    return home() / "bin" / "python"


def install() -> None:
    """Make the environment; needs the network, `venv` and pip."""
    shutil.rmtree(home(), ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home())], check=True)
    subprocess.run([str(_python()), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)


class Otava:
    """The process in Otava's environment; started with the first series, ended with ours."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._cpu_s = 0.0

    def detect(self, values: Array) -> list[int]:
        """Return Otava's change points."""
        process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(values.tolist()) + "\n")
        process.stdin.flush()
        points, self._cpu_s = json.loads(process.stdout.readline())
        return list(points)

    def cpu_s(self) -> float:
        """Return the processor's seconds of this process and of Otava's, up to its last answer."""
        return time.process_time() + self._cpu_s

    def _start(self) -> subprocess.Popen[str]:
        # Isolated: neither our path nor our packages get in.
        self._process = subprocess.Popen(
            [str(_python()), "-I", str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.close)
        return self._process

    def close(self) -> None:
        """End the process by ending its input."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait()
            self._process = None


def load() -> Detector:
    """Return Otava's detector.

    Raises:
        NotInstalledError: its environment does not exist.
    """
    if not _python().exists():
        raise NotInstalledError(f"no {home()}: run `python -m benchmarks.detection --install-peers`")
    peer = Otava()
    return Detector("otava", "Apache Otava", peer.detect, None, REQUIREMENTS[0].split("==")[1], peer.cpu_s)
