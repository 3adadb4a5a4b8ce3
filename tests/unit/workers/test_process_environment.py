from pathlib import Path

import pytest

from workers.arms.environments import Environment, Scope
from workers.measuring.process_environment import (
    PADDING,
    common_variables,
    measured_variables,
    set_up_variables,
)

HOME = Path("/run-7/homes/000001")


def measured(tmp_path, *, is_compiled=False, suite=None, environ=None, visible=None):
    return measured_variables(
        home=HOME,
        checkout=tmp_path,
        environment=Environment(Path("/venv"), Scope.SHARED, is_compiled=is_compiled),
        suite=suite or {},
        caches={"PYTHONPYCACHEPREFIX": "/caches/base"},
        visible=visible or {},
        hash_seed=42,
        padding=3,
        environ=environ or {},
    )


def test_nothing_is_inherited_but_what_is_named(tmp_path):
    environ = {
        "RATCHET_TOKEN": "secret",
        "RATCHET_URL": "http://service",
        "PYTHONPATH": "/agent",
        "VIRTUAL_ENV": "/agent/venv",
        "PIP_INDEX_URL": "https://user:password@example.org",
        "https_proxy": "http://proxy",
        "LD_PRELOAD": "/evil.so",
    }
    found = measured(tmp_path, environ=environ)
    assert not set(environ.values()) & set(found.values())
    assert not [name for name in found if name.startswith("RATCHET_")]


def test_what_steers_devices_is_passed_on_unless_it_may_be_a_secret(tmp_path):
    environ = {"CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "2", "NVIDIA_API_KEY": "secret", "TZ": "UTC"}
    found = measured(tmp_path, environ=environ)
    assert {name: found.get(name) for name in environ} == environ | {"NVIDIA_API_KEY": None}


def test_the_commits_code_comes_first_on_the_path(tmp_path):
    assert measured(tmp_path)["PYTHONPATH"] == str(tmp_path)
    (tmp_path / "src").mkdir()
    assert measured(tmp_path)["PYTHONPATH"] == f"{tmp_path}/src:{tmp_path}"


def test_the_source_does_not_hide_an_installed_copy_with_compiled_parts(tmp_path):
    assert "PYTHONPATH" not in measured(tmp_path, is_compiled=True)


def test_the_environments_programs_come_first(tmp_path):
    found = measured(tmp_path, environ={"PATH": "/usr/bin"})
    assert (found["PATH"], found["VIRTUAL_ENV"]) == ("/venv/bin:/usr/bin", "/venv")


def test_home_and_temporary_files_are_private(tmp_path):
    found = measured(tmp_path, environ={"HOME": "/root", "TMPDIR": "/tmp"})
    assert found["HOME"] == found["TMPDIR"] == str(HOME)


def test_the_suites_own_variables_win(tmp_path):
    found = measured(
        tmp_path, suite={"OMP_NUM_THREADS": "1", "LANG": "de_DE.UTF-8"}, environ={"OMP_NUM_THREADS": "8"}
    )
    assert (found["OMP_NUM_THREADS"], found["LANG"]) == ("1", "de_DE.UTF-8")


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", PADDING])
def test_what_makes_invocations_comparable_wins_over_the_suite(tmp_path, name):
    assert measured(tmp_path, suite={name: "mine"})[name] == {"PYTHONHASHSEED": "42", PADDING: "xxx"}[name]


def test_a_process_sees_the_leases_devices_whatever_agent_or_suite_say(tmp_path):
    name = "CUDA_VISIBLE_DEVICES"
    found = measured(tmp_path, visible={name: "uuid-1"}, suite={name: "0,1"}, environ={name: "2"})
    assert found[name] == "uuid-1"


def test_set_up_commands_can_reach_packages_and_measured_code_cannot(tmp_path):
    environ = {"PIP_INDEX_URL": "https://example.org/simple", "https_proxy": "http://proxy"}
    found = set_up_variables(HOME, Path("/packages"), environ)
    assert environ.items() <= found.items()
    assert (found["UV_CACHE_DIR"], found["PIP_CACHE_DIR"]) == ("/packages/uv", "/packages/pip")
    assert not set(environ) & set(common_variables(HOME, environ))
