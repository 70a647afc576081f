"""The project's own papers: workflows and hooks run what ``make`` runs, and versions and names agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import foro

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_make_runs(path: Path) -> None:
    targets = set(re.findall(r"^(\w+):", MAKEFILE, re.MULTILINE))
    steps = [step for job in yaml.safe_load(text(str(path)))["jobs"].values() for step in job.get("steps", [])]
    made = [step["run"].split()[1] for step in steps if step.get("run", "").startswith("make ")]
    assert set(made) <= targets
    assert made or path.name == "release.yml"
    assert not any("pip install" in step.get("run", "") for step in steps)


def test_nothing_is_published_that_was_not_tested() -> None:
    jobs = yaml.safe_load(text(".github/workflows/release.yml"))["jobs"]
    called = {name: job["uses"] for name, job in jobs.items() if "uses" in job}
    assert sorted(called.values()) == ["./.github/workflows/build.yml", "./.github/workflows/tests.yml"]
    assert sorted(jobs["publish"]["needs"]) == sorted(called)
    for path in called.values():
        assert "workflow_call" in yaml.safe_load(text(path))[True]  # YAML reads "on" as true


def test_every_python_that_is_promised_is_tested_on_three_systems() -> None:
    matrix = yaml.safe_load(text(".github/workflows/tests.yml"))["jobs"]["test"]["strategy"]["matrix"]
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text("pyproject.toml"))
    assert matrix["python"] == promised
    assert len(matrix["system"]) == 3


def test_hooks_before_a_commit_are_those_of_make_lint() -> None:
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    lint = re.findall(r"^\t\$\(BIN\)/(.*)$", MAKEFILE.partition("\nlint:")[2].partition("\n\n")[0], re.MULTILINE)
    plain = [line.replace(" --check", "").removesuffix(" .") for line in lint]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == plain


def test_the_version_stands_once_and_the_changelog_knows_it() -> None:
    assert not re.search(r"^version = ", text("pyproject.toml"), re.MULTILINE)
    released = foro.__version__.split(".dev")[0]
    assert re.search(rf"^## \[(Unreleased\], to become )?{re.escape(released)}", text("CHANGELOG.md"), re.MULTILINE)


def test_the_paper_can_be_cited() -> None:
    cited = yaml.safe_load(text("CITATION.cff"))
    (paper,) = cited["references"]
    assert paper["doi"] in text("pyproject.toml")
    assert len(paper["authors"]) == 5
    assert cited["license"] == "Apache-2.0"
    assert cited["version"] == foro.__version__.split(".dev")[0]
    assert re.search(
        rf"^## \[{re.escape(cited['version'])}\], {cited['date-released']}$", text("CHANGELOG.md"), re.MULTILINE
    )


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "CHANGELOG.md"])
def test_links_between_papers_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text(name)):
        assert (ROOT / link).exists(), link
