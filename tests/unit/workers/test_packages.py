import pytest

from workers.arms.packages import installer_variables, pip_settings


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder, on a machine without settings of its own."""
    monkeypatch.setattr("workers.arms.packages.SYSTEM_SETTINGS", tmp_path / "no-such-file")
    return tmp_path


def write_settings(home, text):
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(text)


def test_uv_finds_packages_where_pip_does(home):
    write_settings(
        home, "[global]\nindex-url = https://example.org/simple\nfind-links =\n    /wheels\n    /more\n"
    )
    found = installer_variables({}, home=home)
    assert found["UV_DEFAULT_INDEX"] == found["PIP_INDEX_URL"] == "https://example.org/simple"
    assert (found["PIP_FIND_LINKS"], found["UV_FIND_LINKS"]) == ("/wheels /more", "/wheels,/more")


def test_variables_win_over_settings_files(home):
    write_settings(home, "[global]\nindex-url = https://example.org/file\n")
    given = {"PIP_INDEX_URL": "https://example.org/variable"}
    assert pip_settings(given, home)["index-url"] == "https://example.org/variable"


def test_what_uv_was_told_directly_stays(home):
    given = {"PIP_INDEX_URL": "https://example.org/pip", "UV_DEFAULT_INDEX": "https://example.org/uv"}
    assert installer_variables(given, home=home)["UV_DEFAULT_INDEX"] == "https://example.org/uv"


def test_several_indexes_are_searched_like_pip_does(home):
    found = installer_variables({"PIP_EXTRA_INDEX_URL": "https://example.org/more"}, home=home)
    assert (found["UV_INDEX"], found["UV_INDEX_STRATEGY"]) == (
        "https://example.org/more",
        "unsafe-best-match",
    )
    assert "UV_INDEX_STRATEGY" not in installer_variables({}, home=home)


def test_proxies_and_certificates_are_passed_on_and_nothing_else(home):
    given = {
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": "localhost",
        "SSL_CERT_FILE": "/certs.pem",
        "RATCHET_TOKEN": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "SSL_CERT_FILE_PASSWORD": "secret",
    }
    found = installer_variables(given, home=home)
    assert set(found) & set(given) == {"https_proxy", "NO_PROXY", "SSL_CERT_FILE"}


def test_settings_can_be_switched_off_as_pip_allows(home):
    write_settings(home, "[global]\nindex-url = https://example.org/simple\n")
    assert pip_settings({"PIP_CONFIG_FILE": "/dev/null"}, home) == {}


def test_a_settings_file_that_cannot_be_read_is_left_to_pip(home):
    write_settings(home, "index-url = no section\n")
    assert pip_settings({}, home) == {}
