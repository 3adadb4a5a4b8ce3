import json

from workers.host.fingerprint import (
    host_fingerprint,
    machine_hash,
    read_int,
    read_text,
    relevant_environment,
    with_unavailable,
)


def test_a_fingerprint_survives_being_sent():
    parts = host_fingerprint({"CUDA_HOME": "/cuda"})
    assert json.loads(json.dumps(parts, allow_nan=False)) == parts


def test_what_the_machine_does_not_tell_is_listed_and_never_zero():
    parts = host_fingerprint({})
    nulls = [
        key for name in ("machine", "identity", "soft") for key, value in parts[name].items() if value is None
    ]
    assert parts["unavailable"] == sorted(nulls)


def test_the_machine_hash_depends_on_the_machine_alone():
    first = {"machine": {"a": 1, "b": None}, "identity": {"host": "x"}, "soft": {"temp_c": 50.0}}
    same = {"machine": {"b": None, "a": 1}, "identity": {"host": "y"}, "soft": {"temp_c": 60.0}}
    assert machine_hash(first) == machine_hash(same)
    assert machine_hash(first) != machine_hash(first | {"machine": {"a": 2, "b": None}})


def test_the_machine_stays_the_same_from_one_reading_to_the_next():
    assert machine_hash(host_fingerprint({})) == machine_hash(host_fingerprint({"CUDA_VISIBLE_DEVICES": "1"}))


def test_nulls_are_listed_anew():
    parts = {"machine": {"driver": None, "cpu": "x"}, "soft": {"turbo": None}, "unavailable": ["old"]}
    assert with_unavailable(parts)["unavailable"] == ["driver", "turbo"]


def test_secrets_are_no_part_of_the_environment_that_is_recorded():
    environ = {"CUDA_HOME": "/cuda", "NCCL_SOCKET_PASSWORD": "x", "TORCH_TOKEN": "x", "HOME": "/root"}
    assert relevant_environment(environ) == {"CUDA_HOME": "/cuda"}


def test_a_kernel_file_that_is_missing_reads_as_none(tmp_path):
    assert read_text(tmp_path / "none") is None
    assert read_int(tmp_path / "none") is None


def test_a_kernel_file_without_a_number_reads_as_none(tmp_path):
    (tmp_path / "limit").write_text("max\n")
    assert read_text(tmp_path / "limit") == "max"
    assert read_int(tmp_path / "limit") is None
