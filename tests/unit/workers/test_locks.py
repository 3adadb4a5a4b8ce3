import os
import stat

import pytest

from workers.errors import InUseError
from workers.host.locks import LockFile, lock_path, shared_folder


def test_a_lock_is_held_by_one_at_a_time(tmp_path):
    path = tmp_path / "device.lock"
    with LockFile(path, "busy"), pytest.raises(InUseError, match="somebody measures"):
        LockFile(path, "somebody measures").acquire()


def test_a_released_lock_can_be_taken_again(tmp_path):
    path = tmp_path / "device.lock"
    with LockFile(path, "busy"):
        pass
    with LockFile(path, "busy") as lock:
        assert lock.fd >= 0


def test_releasing_a_lock_that_is_not_held_does_nothing(tmp_path):
    LockFile(tmp_path / "device.lock", "busy").release()


def test_a_lock_file_can_be_opened_by_every_user_whatever_the_umask_is(tmp_path):
    before = os.umask(0o077)
    try:
        with LockFile(tmp_path / "device.lock", "busy"):
            mode = stat.S_IMODE((tmp_path / "device.lock").stat().st_mode)
    finally:
        os.umask(before)
    assert mode == 0o444


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / "device.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        LockFile(tmp_path / "device.lock", "busy").acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_a_hardware_id_with_any_characters_names_a_file_in_the_folder(tmp_path):
    path = lock_path(tmp_path, "../GPU 0/\n", "measuring")
    assert path.parent == tmp_path
    assert path.name.isascii()
    assert path != lock_path(tmp_path, "../GPU 1/\n", "measuring")


def test_the_shared_folder_lets_users_work_beside_each_other():
    assert stat.S_IMODE(shared_folder().stat().st_mode) & 0o1002 == 0o1002
