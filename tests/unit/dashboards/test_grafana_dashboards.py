"""The dashboards for Grafana as documents: what each panel must have, and that they are what their code makes."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models import units

from app.domain.metrics import METRICS
from app.integrations.dcgm.fields import BY_NAME
from dashboards.grafana.__main__ import BUILT, documents
from dashboards.grafana.boards.efficiency import METRICS as OF_EFFICIENCY
from tests.factories.grafana import MACRO, POSTGRES, VARIABLE, boards, panels, queries, variables

BOARDS = boards()
PANELS = [pytest.param(b, p, id=f"{b['uid']} / {p['title']}") for b in BOARDS.values() for p in panels(b)]
ROOT = Path(__file__).parents[3]
PROVISIONING = ROOT / "dashboards" / "grafana" / "provisioning"
KNOWN_UNITS = {value for name, value in vars(units).items() if name[0].isupper() and isinstance(value, str)}
OWN_UNIT = re.compile(r"(si|suffix|prefix): ?\S+")
BUILT_IN = {"__all", "__value", "__data", "__range", "__rate_interval", "__interval"}


def test_checked_in_files_are_what_the_code_makes() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in BUILT.iterdir()} == documents()


def test_address_of_ratchet_is_in_one_variable_alone() -> None:
    here = "https://ratchet.example.org"
    for name, text in documents(here).items():
        assert text.count(here) == json.dumps(json.loads(text)["templating"]).count(here), name
        (its,) = [one for one in json.loads(text)["templating"]["list"] if one["query"] == here]
        assert (its["type"], its["skipUrlSync"]) == ("constant", True), "nobody's link leads elsewhere"
        assert text.replace(here, "http://localhost:8440") == (BUILT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_grafanas_own_models_read_a_dashboard_and_lose_nothing(board: dict[str, Any]) -> None:
    register_default_plugins()
    told = json.loads(json.dumps(board))
    for annotation in told["annotations"].get("list", []):
        assert set(annotation.pop("target")) >= {"rawSql", "format", "refId"}, (
            "the models know Grafana's own alone"
        )
    read = json.loads(JSONEncoder().encode(model.Dashboard.from_json(told)))
    assert read == told
    assert board["schemaVersion"] == model.Dashboard().schema_version


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_dashboard_has_what_operators_find_it_by(board: dict[str, Any]) -> None:
    assert board["uid"] in {name.removesuffix(".json") for name in documents()}
    assert board["title"].startswith("Ratchet · ")
    assert "ratchet" in board["tags"]
    assert "id" not in board, "Grafana gives it"
    assert re.fullmatch(r"\d+[smh]", board["refresh"])
    assert (board["time"]["from"][:4], board["time"]["to"]) == ("now-", "now")
    assert len(board["description"]) > 40
    others, *pages = board["links"]
    assert (others["type"], others["tags"], others["keepTime"], others["includeVars"]) == (
        "dashboards",
        ["ratchet"],
        True,
        True,
    )
    assert [page["url"] for page in pages if not page["url"].startswith("${ratchet}/")] == []
    assert pages != []


def test_ids_and_titles_of_dashboards_are_their_own() -> None:
    assert len(BOARDS) == 4
    assert len({board["title"] for board in BOARDS.values()}) == 4
    for board in BOARDS.values():
        ids = [panel["id"] for panel in board["panels"]]
        assert sorted(set(ids)) == list(range(1, len(ids) + 1))
        titles = [panel["title"] for panel in board["panels"]]
        assert len(set(titles)) == len(titles), "a title is said once in a dashboard"


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_panel_says_what_it_shows_in_which_unit_and_when_to_worry(
    board: dict[str, Any], panel: dict[str, Any]
) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"]
    assert len(panel["description"]) > 40
    assert panel["description"].endswith(".")
    assert defaults["noValue"]
    assert panel["datasource"]["uid"] in ("${postgres}", "${prometheus}")
    assert panel["targets"] != []
    assert {target["datasource"]["uid"] for target in panel["targets"]} == {panel["datasource"]["uid"]}
    refs = [target["refId"] for target in panel["targets"]]
    assert len(set(refs)) == len(refs)
    overridden = [p for o in panel["fieldConfig"]["overrides"] for p in o["properties"] if p["id"] == "unit"]
    for unit in [defaults["unit"], *(its["value"] for its in overridden)]:
        assert unit in KNOWN_UNITS or OWN_UNIT.fullmatch(unit), unit


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_panels_lie_beside_each_other_on_the_grid_and_fill_it(board: dict[str, Any]) -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        columns = range(place["x"], place["x"] + place["w"])
        lines = range(place["y"], place["y"] + place["h"])
        for cell in itertools.product(columns, lines):
            assert cell not in taken, (panel["title"], taken[cell])
            taken[cell] = panel["title"]
    height = max(y for _, y in taken) + 1
    holes = [(x, y) for y in range(height) for x in range(24) if (x, y) not in taken]
    assert holes == []


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_variable_is_defined_before_it_is_used_and_used(board: dict[str, Any]) -> None:
    defined: set[str] = set()
    for variable in board["templating"]["list"]:
        assert variable["name"] not in defined
        assert used_in(variable.get("query", "")) | used_in(variable.get("datasource") or {}) <= defined
        defined.add(variable["name"])
        assert variable["label"]
    everything = used_in([board["panels"], board["annotations"], board["links"], board["templating"]])
    assert everything - BUILT_IN == defined


def used_in(part: Any) -> set[str]:
    """Return the names of variables in every text of a part of a document."""
    if isinstance(part, dict):
        return {name for key, value in part.items() for name in used_in(value) | used_in(key)}
    if isinstance(part, list):
        return {name for one in part for name in used_in(one)}
    if not isinstance(part, str):
        return set()
    found = {match[1] or match[2] or match[4] for match in VARIABLE.finditer(MACRO.sub("", part))}
    return {name for name in found if not name.isdigit()}


def test_sql_takes_what_is_chosen_as_strings_alone_and_reads_views_alone() -> None:
    texts = [query.text for query in queries(POSTGRES)]
    texts += [str(v["query"]) for uid in BOARDS for v in variables(uid, POSTGRES)]
    assert len(texts) > 30
    for text in texts:
        formats = {match[5] for match in VARIABLE.finditer(MACRO.sub("", text))}
        assert formats <= {"sqlstring"}
        read = set(
            re.findall(
                r"\b(?:from|join) (?!lateral)([a-z_]+\.?[a-z_]*)", re.sub(r"extract\(.*?from", "", text)
            )
        )
        assert {name for name in read if not name.startswith("ratchet_views.")} <= {"generate_series"}, text
        assert "(" not in "".join(match[2] for match in MACRO.finditer(text)), (
            "a macro ends at the first bracket"
        )


def test_links_to_commits_have_the_column_that_names_their_project() -> None:
    for board in BOARDS.values():
        for panel in panels(board):
            if "__data.fields.Project" in json.dumps(panel):
                assert 'as "Project"' in panel["targets"][0]["rawSql"]


def test_names_of_metrics_are_those_of_the_catalogues() -> None:
    assert [name for name in OF_EFFICIENCY if name not in METRICS] == []
    assert [name for name in OF_EFFICIENCY if METRICS[name].better is None] == []
    text = json.dumps(BOARDS["ratchet-fleet"])
    profiled = set(re.findall(r"DCGM_FI_PROF_\w+", text))
    assert profiled != set()
    assert profiled <= set(BY_NAME)


def test_provisioned_data_sources_are_those_that_dashboards_preset() -> None:
    document = yaml.safe_load((PROVISIONING / "datasources" / "ratchet.yaml").read_text(encoding="utf-8"))
    sources = {source["uid"]: source for source in document["datasources"]}
    preset = {
        (variable["query"], variable["current"]["value"], variable["current"]["text"])
        for board in BOARDS.values()
        for variable in board["templating"]["list"]
        if variable["type"] == "datasource"
    }
    assert {(its["type"], uid, its["name"]) for uid, its in sources.items()} == preset
    password = sources["ratchet-postgres"]["secureJsonData"]["password"]
    assert re.fullmatch(r"\$__file\{/[\w/-]+\}", password), "no password in the file"


def test_provisioned_dashboards_and_settings_are_those_of_the_document() -> None:
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards" / "ratchet.yaml").read_text())["providers"]
    document = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    assert provider["options"]["path"] in document
    settings = re.findall(r"\$(RATCHET_\w+)", (PROVISIONING / "datasources" / "ratchet.yaml").read_text())
    assert [name for name in settings if f"`{name}`" not in document] == []
    for board in BOARDS.values():
        assert f"`{board['uid']}`" in document
        for panel in board["panels"]:
            if panel["type"] == "row":
                assert panel["title"] in document, (board["uid"], panel["title"])
        for variable in board["templating"]["list"]:
            assert f"`{variable['name']}`" in document
