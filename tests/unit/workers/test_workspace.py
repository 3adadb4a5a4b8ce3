from workers.arms.workspace import Workspace, remove_tree


def test_both_arms_have_paths_of_one_length(tmp_path):
    workspace = Workspace(tmp_path, 7)
    assert len(str(workspace.checkout("base"))) == len(str(workspace.checkout("head")))
    assert len(str(workspace.caches("base"))) == len(str(workspace.caches("head")))


def test_every_process_has_a_new_empty_home_at_a_path_of_one_length(tmp_path):
    with Workspace(tmp_path, 7) as workspace:
        homes = [workspace.new_home() for _ in range(12)]
        assert len(set(homes)) == 12
        assert len({len(str(home)) for home in homes}) == 1
        assert not any(path for home in homes for path in home.iterdir())


def test_nothing_of_a_run_stays(tmp_path):
    with Workspace(tmp_path, 7) as workspace:
        locked = workspace.new_home() / "locked"
        locked.mkdir()
        (locked / "file").write_text("x")
        locked.chmod(0o500)
    assert list(tmp_path.iterdir()) == []


def test_a_run_begins_with_an_empty_folder(tmp_path):
    (tmp_path / "7/arms/base").mkdir(parents=True)
    with Workspace(tmp_path, 7) as workspace:
        assert not workspace.checkout("base").exists()


def test_links_are_removed_and_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/link").symlink_to(kept)
    remove_tree(tmp_path / "gone")
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "file"]


def test_removing_what_is_not_there_does_nothing(tmp_path):
    remove_tree(tmp_path / "none")
