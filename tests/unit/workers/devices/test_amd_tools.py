import sys
import threading
from types import SimpleNamespace

import pytest

from tests.factories.amdgpu import tool
from workers.devices.amd import tools as amd_tools
from workers.devices.tools import ToolError


def test_tools_that_answer_nothing_of_use_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    tool(tmp_path / "bin", "amd-smi", "echo '[{\"gpu\": 0,, }'")
    with pytest.raises(ToolError, match="rocm-smi is not on PATH"):
        amd_tools.from_tools()


class Library:
    """A double of AMD's library."""

    def __init__(self, violations=None, metrics=None, energy=None):
        self.told = {"violation_status": violations, "gpu_metrics_info": metrics, "energy_count": energy}

    def amdsmi_get_processor_handles(self):
        return ["first"]

    def amdsmi_get_gpu_device_bdf(self, handle):
        return "0000:0C:00.0"

    def __getattr__(self, name):
        answer = self.__dict__["told"].get(name.removeprefix("amdsmi_get_"))
        if answer is None:
            raise AttributeError(name)
        return lambda handle: answer


@pytest.mark.parametrize(
    ("library", "readings"),
    [
        (
            Library({"active_ppt_pwr": True, "active_vr_thrm": False, "active_hbm_thrm": "N/A"}),
            {"throttle_reasons": ["ppt"]},
        ),
        (
            Library({"active_ppt_pwr": "N/A"}, {"indep_throttle_status": 1 << 36}),
            {"throttle_reasons": ["thermal"]},
        ),
        (Library(metrics={"indep_throttle_status": "N/A"}), {}),
        (
            Library(energy={"energy_accumulator": 2**17, "counter_resolution": 15.2587890625}),
            {"energy_j_total": 2.0},
        ),
        (Library(energy={"power": 2**16, "counter_resolution": 15.2587890625}), {"energy_j_total": 1.0}),
        (Library(), {}),
    ],
)
def test_the_library_tells_what_its_version_has(library, readings):
    assert amd_tools.Library(library).readings() == {"0000:0c:00.0": readings}


@pytest.mark.parametrize("error", [KeyError("ROCM_PATH"), OSError("libamd_smi.so"), ImportError("no module")])
def test_a_library_that_cannot_be_imported_is_none_and_prints_nothing(monkeypatch, capsys, error):
    def fail(name):
        sys.stdout.write("Unable to find libamd_smi.so")
        raise error

    monkeypatch.setattr(amd_tools.importlib, "import_module", fail)
    assert amd_tools.load_library() is None
    assert capsys.readouterr().out == ""


def test_a_library_that_does_not_open_is_none(monkeypatch):
    hang = threading.Event()
    monkeypatch.setattr(amd_tools, "START_S", 0.01)
    monkeypatch.setitem(sys.modules, "amdsmi", SimpleNamespace(amdsmi_init=lambda: hang.wait(60)))
    assert amd_tools.load_library() is None
    hang.set()
