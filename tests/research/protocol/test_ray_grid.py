"""The runs of an experiment side by side: one lock and one result file each, and the results of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from foro.cluster import RayEngine
from foro.errors import InputError
from foro.features.cache import FeatureCache
from foro.research.protocol.experiment_setup import Setup
from foro.research.protocol.grid import run_all
from foro.research.protocol.ray_grid import RayGrid, find_grid
from foro.research.protocol.record import read_records
from foro.research.protocol.runner import WORK, Runner
from foro.research.protocol.spec import RunSpec
from foro.util.lock import locked
from tests.command_line import foro
from tests.research.conftest import SMALL

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]

GRID = RayGrid(RayEngine(workers=2))
SPECS = [RunSpec("digits", 5, method, seed, SMALL) for method in ("kem", "foro") for seed in range(2)]


def test_runs_side_by_side_have_the_results_of_runs_one_after_another(ray: Any, setup: Setup, tmp_path: Path) -> None:
    expected = run_all(Runner(setup, tmp_path / "one"), SPECS)
    advanced: list[int] = []
    runner = Runner(setup, tmp_path / "many", FeatureCache(tmp_path / "features"))

    def parallel(*arguments: Any) -> None:
        GRID(arguments[0], arguments[1], advanced.append)

    done: list[str] = []
    usual = Runner._tasks
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Runner, "_tasks", lambda self, *each: done.append("here") or usual(self, *each))
        found = run_all(runner, SPECS, parallel=parallel)
    assert done == []  # not one of them in this process
    assert sorted(advanced) == [5] * len(SPECS)
    assert [record.content["accuracy"] for record in found] == [record.content["accuracy"] for record in expected]
    assert len(list((tmp_path / "many").glob("*.json"))) == len(SPECS)
    assert not (tmp_path / "many" / WORK).exists()


def test_a_run_that_another_process_is_at_is_left_to_it(ray: Any, setup: Setup, tmp_path: Path) -> None:
    advanced: list[int] = []
    runner = Runner(setup, tmp_path)
    with locked(tmp_path / WORK / setup.run_name(SPECS[0]) / "lock") as held:
        assert held
        GRID(runner, SPECS[:2], advanced.append)
        assert sorted(advanced) == [0, 5]
    assert len(read_records(tmp_path)) == 1


def test_a_mistake_in_a_run_is_told_in_its_own_words(ray: Any, setup: Setup, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="10 classes cannot be cut into 11 tasks"):
        GRID(Runner(setup, tmp_path), [RunSpec("digits", 11, "kem", 0, SMALL)], lambda _more: None)


def test_the_command(ray: Any, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORO_CACHE", str(tmp_path / "cache"))
    assert find_grid(None) is None
    options = ["--dataset", "digits", "--backbone", tiny_folder, "--methods", "kem", "--seeds", "0,1", "--json"]
    options += ["--train-per-class", 8, "--test-per-class", 4, "--set", "projection_dim=64", "--no-cache"]
    ran = foro("experiment", "run", *options, "--out", tmp_path / "runs", "--engine", "ray", "--workers", 2)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)
    assert len(read_records(tmp_path / "runs")) == 2
    wrong = foro("experiment", "run", *options, "--out", tmp_path / "none", "--workers", 2)
    assert wrong.code == 2
    assert "workers can be set for the engine ray only" in wrong.err
