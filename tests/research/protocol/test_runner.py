"""Runs: what they record, how they go on after an interruption, and that no two processes do the same one."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import foro.research.protocol.grid
from foro.errors import FoRoError, FoRoWarning, InputError
from foro.features.cache import FeatureCache
from foro.research.protocol.experiment_setup import DataOptions, Setup
from foro.research.protocol.grid import run_all, run_in_own_process
from foro.research.protocol.record import read_records
from foro.research.protocol.runner import WORK, Runner
from foro.research.protocol.spec import RunSpec
from foro.util.lock import locked
from tests.conftest import textures
from tests.research.conftest import SMALL
from tests.research.results import without_times

KEM = RunSpec("digits", 5, "kem", 0, SMALL)


def test_a_result_has_everything_needed_to_repeat_it(setup: Setup, tmp_path: Path) -> None:
    record = Runner(setup, tmp_path).run(KEM)
    assert record is not None
    content = json.loads(record.path.read_text())
    assert content["settings"]["projection_dim"] == 64
    assert content["seed"] == 0
    assert content["backbone"]["fingerprint"] == setup.backbone.fingerprint
    assert content["data"]["fingerprint"] == setup.dataset("digits").fingerprint
    assert content["data"]["description"].startswith("handwritten digits: 10 classes, 8 of about 135 train")
    assert content["data"]["complete"] is False
    assert {"foro", "python", "numpy", "onnxruntime"} <= content["versions"].keys()
    assert {"system", "processor", "cores"} <= content["machine"].keys()
    assert [len(row) for row in content["accuracy"]] == [1, 2, 3, 4, 5]
    assert [task["learn"]["forward_passes"] for task in content["tasks"]] == [16] * 5
    assert all(task["learn"]["seconds"] > 0 and task["test"]["seconds"] > 0 for task in content["tasks"])
    assert record.passes_per_sample() == 1.0
    assert record.peak_megabytes is None or record.peak_megabytes > 10
    assert content["command"].startswith("foro experiment run --dataset digits --backbone /")
    assert "--train-per-class 8 --test-per-class 4 --set projection_dim=64" in content["command"]
    assert not (tmp_path / WORK).exists()


def test_a_complete_run_is_skipped_and_another_setting_is_another_run(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path)
    first = runner.run(KEM)
    assert first is not None
    before = first.path.stat().st_mtime_ns
    again = runner.run(KEM)
    assert again is not None
    assert again.path.stat().st_mtime_ns == before
    names = {
        setup.run_name(spec)
        for spec in (
            KEM,
            RunSpec("digits", 2, "kem", 0, SMALL),
            RunSpec("digits", (4, 6), "kem", 0, SMALL),
            RunSpec("digits", 5, "foro", 0, SMALL),
            RunSpec("digits", 5, "kem", 1, SMALL),
            RunSpec("digits", 5, "kem", 0, {**SMALL, "regularisation": 0.1}),
            RunSpec("digits", 5, "kem", 0, SMALL, blur=0.2),
        )
    }
    assert len(names) == 7
    usual = {**SMALL, "policy": "none"}  # says what is so anyway
    assert setup.run_name(RunSpec("digits", 5, "kem", 0, usual)) == setup.run_name(KEM)


@pytest.mark.parametrize(("method", "stop"), [("kem", 3), ("foro", 1), ("foro-paper", 3), ("fitness", 2)])
def test_goes_on_after_an_interruption(setup: Setup, method: str, stop: int, tmp_path: Path) -> None:
    settings = {name: value for name, value in SMALL.items() if name != "projection_dim" or method != "fitness"}
    spec = RunSpec("digits", 5, method, 1, settings)
    whole = Runner(setup, tmp_path / "whole", save_ratio=0).run(spec)

    def interrupt(_more: int) -> None:
        tasks.append(_more)
        if sum(tasks) == stop:
            raise KeyboardInterrupt

    tasks: list[int] = []
    runner = Runner(setup, tmp_path / "parts", save_ratio=0)
    with pytest.raises(KeyboardInterrupt):
        runner.run(spec, advance=interrupt)
    (work,) = (tmp_path / "parts" / WORK).iterdir()
    assert [path.name for path in work.glob("model-*")] == [f"model-{stop}"]
    assert runner.finished(spec) is None

    learned: list[int] = []
    parts = runner.run(spec, advance=learned.append)
    assert learned == [stop, *[1] * (5 - stop)]
    assert whole is not None
    assert parts is not None
    assert without_times(parts.content) == without_times(whole.content)
    assert not work.exists()


def test_a_damaged_state_starts_again(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path)
    work = tmp_path / WORK / setup.run_name(KEM)
    work.mkdir(parents=True)
    for text in ("{", "[]", '{"model": "model-1", "tasks": []}'):
        (work / "state.json").write_text(text)
        learned: list[int] = []
        runner.run(KEM, advance=learned.append)
        assert learned == [0, 1, 1, 1, 1, 1]
        (tmp_path / f"{setup.run_name(KEM)}.json").unlink()
        work.mkdir(parents=True)


def test_a_damaged_result_is_named(setup: Setup, tmp_path: Path) -> None:
    path = tmp_path / f"{setup.run_name(KEM)}.json"
    path.write_text("{")
    with pytest.raises(InputError, match=r"is damaged; remove it"):
        Runner(setup, tmp_path).run(KEM)
    path.write_text("{}")
    with pytest.raises(InputError, match="is not the result of an experiment"):
        Runner(setup, tmp_path).run(KEM)
    with pytest.raises(InputError, match="there is no folder"):
        read_records(tmp_path / "nowhere")


@pytest.mark.parametrize("method", ["kem", "foro", "foro-paper", "fitness"])
def test_results_are_identical_with_and_without_a_feature_cache(setup: Setup, method: str, tmp_path: Path) -> None:
    settings = {name: value for name, value in SMALL.items() if name != "projection_dim" or method != "fitness"}
    cache = FeatureCache(tmp_path / "features")
    specs = [RunSpec("digits", tasks, method, seed, settings) for tasks, seed in ((5, 0), (2, 1))]
    for spec in specs:
        plain = Runner(setup, tmp_path / "without").run(spec)
        cached = Runner(setup, tmp_path / "with", cache).run(spec)
        assert plain is not None
        assert cached is not None
        for part in ("accuracy", "results"):
            assert cached.content[part] == plain.content[part]
        assert cached.passes_per_sample() == plain.passes_per_sample()
    assert (cache.served == 0) == (method == "foro-paper")


def test_timed_runs_take_nothing_from_the_cache(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path / "runs", FeatureCache(tmp_path / "features"))
    runner.run(RunSpec("digits", 2, "kem", 0, SMALL))
    untimed = runner.run(KEM)
    assert untimed is not None
    assert untimed.learning_seconds is None
    assert runner.finished(KEM, timed=True) is None
    timed = runner.run(KEM, timed=True)
    assert timed is not None
    assert timed.learning_seconds is not None
    assert timed.learning_seconds > 0
    assert timed.results == untimed.results
    assert runner.finished(KEM) is not None


def test_a_timed_run_has_a_process_of_its_own(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path, FeatureCache(tmp_path / "features"))
    shared = runner.run(KEM)
    assert shared is not None
    assert not shared.own_process
    assert shared.peak_megabytes is None
    (alone,) = run_all(runner, [KEM], timed=True)
    assert alone.own_process
    assert alone.learning_seconds is not None
    assert alone.results == shared.results
    before = alone.path.stat().st_mtime_ns
    run_all(runner, [KEM], timed=True)
    assert alone.path.stat().st_mtime_ns == before  # it is there


def test_a_mistake_in_a_process_of_its_own_is_said_here(setup: Setup, tmp_path: Path) -> None:
    (tmp_path / WORK).write_text("a file where a folder must be")
    with pytest.raises(FoRoError, match="cannot be written"):
        run_in_own_process(Runner(setup, tmp_path), KEM, True, lambda _more: None)


def _die(*_arguments: Any) -> None:
    """What a process does that the system has no more memory for."""
    os._exit(3)


def test_a_process_that_dies_is_reported(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foro.research.protocol.grid, "_run", _die)
    with pytest.raises(FoRoError, match="the process that ran kem ended with code 3 before it had a result"):
        run_in_own_process(Runner(setup, tmp_path), KEM, True, lambda _more: None)


def test_a_run_that_another_process_is_at_is_left_to_it(setup: Setup, tmp_path: Path) -> None:
    runner = Runner(setup, tmp_path)
    with locked(tmp_path / WORK / setup.run_name(KEM) / "lock") as held:
        assert held
        assert runner.run(KEM, wait=False) is None
    assert runner.run(KEM, wait=False) is not None


def _work(backbone: str, folder: str, start: Any, done: Any) -> None:
    """What one of two processes does: all of the runs, counting those that it did itself."""
    setup = Setup(backbone, data=DataOptions(train_per_class=8, test_per_class=4))
    runner = Runner(setup, Path(folder))
    mine: list[int] = []
    usual = Runner._tasks

    def counting(self: Runner, *arguments: Any) -> dict[str, Any]:
        mine.append(1)
        return usual(self, *arguments)

    Runner._tasks = counting  # type: ignore[method-assign]
    start.wait()
    records = run_all(runner, [RunSpec("digits", 5, "kem", seed, SMALL) for seed in range(4)])
    done.put((len(mine), len(records)))


def test_two_processes_never_do_the_same_run_twice(tiny_folder: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, done = context.Event(), context.Queue()
    arguments = (str(tiny_folder), str(tmp_path), start, done)
    processes = [context.Process(target=_work, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    start.set()
    counts = [done.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert sum(mine for mine, _ in counts) == 4
    assert [found for _, found in counts] == [4, 4]
    assert len(read_records(tmp_path)) == 4


def test_a_mistake_is_found_before_the_first_run(setup: Setup, tmp_path: Path) -> None:
    specs = [KEM, RunSpec("digits", 11, "kem", 0, SMALL)]
    with pytest.raises(InputError, match="10 classes cannot be cut into 11 tasks"):
        run_all(Runner(setup, tmp_path), specs)
    assert not list(tmp_path.iterdir())


def test_an_image_folder_is_a_data_set_and_a_registered_name_is_not_a_folder(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    images, labels = textures(12)
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        path = tmp_path / "photos" / label / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    (tmp_path / "photos" / "texture 0" / "bad.png").write_text("not an image")
    setup = Setup(str(tiny_folder), data=DataOptions(data_dir="elsewhere", skip_bad=True))
    assert setup.dataset("digits").name == "digits"
    with pytest.warns(FoRoWarning, match=r"left out of photos: photos/texture 0/bad\.png cannot be read as an image"):
        record = Runner(setup, tmp_path / "runs").run(RunSpec("photos", 2, "kem", 0, SMALL))
    assert record is not None
    assert record.content["data"]["skipped_images"] == 1
    assert record.content["data"]["complete"] is True
    assert f"--dataset {tmp_path / 'photos'} " in record.content["command"]
    assert record.content["command"].endswith("--skip-bad " + " ".join(f"--set {k}={v}" for k, v in SMALL.items()))


def test_kem_does_not_depend_on_how_classes_are_cut_into_tasks(setup: Setup, tmp_path: Path) -> None:
    records = run_all(Runner(setup, tmp_path), [RunSpec("digits", tasks, "kem", 0, SMALL) for tasks in (2, 5, 10)])
    assert len({record.results["last_accuracy"] for record in records}) == 1
