"""What is exported computes what the model computes, whatever the model is made of."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from foro import Learner
from foro.backbones import Backbone, load_backbone
from foro.errors import BackboneError, InputError, ModelFileError
from foro.features.candidate import NEUTRAL
from foro.files.export import export_model
from foro.files.export import exporter as room
from foro.files.export.model_graph import build_model_graph
from foro.files.export.onnx_file import write_onnx
from foro.images.load import load_crop
from tests.backbones.reference import tiny_checkpoint
from tests.bad_images import UNUSUAL, photo, write_images
from tests.conftest import textures
from tests.files.test_inference_file import KINDS, taught


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_is_the_model(kind: str, tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = taught(tiny_backbone, kind)
    images, _ = textures(3, seed=1)
    exported = export_model(learner.snapshot(), tmp_path / "model.onnx", images)
    assert exported.checked_images == exported.same_labels == 12
    assert exported.largest_difference < 1e-4
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    crops = np.stack(images)
    scores, likely = session.run(["scores", "probabilities"], {"image": crops})
    known = learner.familiarity(images)
    outputs = {each.name for each in session.get_outputs()}
    assert ("unknown" in outputs) is not np.isnan(known).any()
    if "unknown" in outputs:
        assert np.allclose(1 - session.run(["unknown"], {"image": crops})[0], known, atol=1e-3)
    assert np.allclose(scores, learner.scores(images), rtol=1e-3, atol=1e-4)
    assert np.allclose(likely.sum(axis=1), 1, atol=1e-5)
    (alone,) = session.run(["scores"], {"image": crops[:1]})
    assert np.allclose(alone, scores[:1], atol=1e-4)


def test_gains_leave_no_trace_in_the_file(tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner, plain = taught(tiny_backbone, "gains"), taught(tiny_backbone, "gelu")
    images, _ = textures(3, seed=1)
    export_model(learner.snapshot(), tmp_path / "model.onnx", images)
    model = onnx.load(tmp_path / "model.onnx")
    assert [each.name for each in model.graph.input] == ["image"]
    assert not [each.name for each in model.graph.initializer if "gain" in each.name]
    assert "Exp" not in {node.op_type for node in model.graph.node}
    export_model(plain.snapshot(), tmp_path / "plain.onnx", images)
    nodes = [len(onnx.load(tmp_path / f"{name}.onnx").graph.node) for name in ("model", "plain")]
    assert nodes[0] == nodes[1]
    # They are in the weights: the same model with none of them answers otherwise.
    neutral = replace(learner.snapshot(), candidate=NEUTRAL)
    assert np.abs(neutral.scores(images) - learner.scores(images)).max() > 1e-2


def test_metadata_says_how_to_prepare_an_image_and_read_the_answer(tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    images, _ = textures(4)
    labels = ["Ünï ☂", "b", 7, "8"]
    learner.learn(images, labels * 4)
    export_model(learner.snapshot(), tmp_path / "model.onnx", images)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    facts = {key: json.loads(text) for key, text in session.get_modelmeta().custom_metadata_map.items()}
    assert facts["labels"] == labels
    assert facts["backbone"]["fingerprint"] == tiny_backbone.fingerprint
    assert facts["preprocessing"]["image_size"] == facts["preprocessing"]["resize"] == 32
    steps = facts["preprocessing"]["steps"]
    assert steps[0].startswith("decode a JPEG at the smallest of 1/8, 1/4, 1/2 and 1")
    assert steps[2] == "turn the image upright by its EXIF orientation"
    assert steps[6].startswith("resize the shorter side to 32, the longer one to floor(32 * longer / shorter)")
    assert steps[-2].startswith("cut 32 x 32 out")
    (image,) = session.get_inputs()
    assert (image.name, image.type, image.shape) == ("image", "tensor(uint8)", ["n", 32, 32, 3])


def test_the_example_prepares_images_as_foro_does(tiny_backbone: Backbone, tmp_path: Path) -> None:
    """The example of the guide on every image of the zoo, and on sizes whose middle lies between two pixels."""
    learner = Learner(tiny_backbone, policy="none", projection_dim=64)
    learner.learn(*textures(4))
    learner.export(tmp_path / "model.onnx")
    paths = write_images(tmp_path / "zoo", UNUSUAL)
    for size in ((41, 40), (47, 64), (50, 33), (100, 35)):
        paths.append(tmp_path / f"{size}.png")
        photo(size).save(paths[-1])
    for turned, form in ((1, "RGB"), (6, "RGB"), (3, "L"), (8, "CMYK")):  # large enough not to be decoded in full
        paths.append(tmp_path / f"{turned} {form}.jpg")
        large = photo((407, 301)).convert(form)
        exif = large.getexif()
        exif[0x0112] = turned
        large.save(paths[-1], exif=exif)
    example = Path(__file__).parents[2] / "docs" / "ask.py"
    prepare = runpy.run_path(str(example))["prepare"]
    how = json.loads(
        onnxruntime.InferenceSession(str(tmp_path / "model.onnx")).get_modelmeta().custom_metadata_map["preprocessing"]
    )
    for path in paths:
        assert np.array_equal(prepare(path, how), load_crop(path, tiny_backbone.preprocessing)), path
    ran = subprocess.run(
        [sys.executable, example, tmp_path / "model.onnx", *paths], capture_output=True, text=True, check=True
    )
    for line, path, ((label, likely),) in zip(ran.stdout.splitlines(), paths, learner.top(paths, 1), strict=True):
        asked, answer, chance = line.split("\t")
        assert (asked, answer) == (str(path), label)
        assert float(chance) == pytest.approx(likely, abs=1e-3)


def test_weights_too_large_for_a_protobuf_stand_beside_it(tiny_backbone: Backbone, tmp_path: Path) -> None:
    learner = taught(tiny_backbone, "gelu")
    graph = build_model_graph(learner.snapshot(), tiny_checkpoint())
    files = write_onnx(tmp_path / "large.onnx", graph, {}, largest_inside=1000)
    assert [file.name for file in files] == ["large.onnx", "large.onnx.data"]
    (inside,) = write_onnx(tmp_path / "small.onnx", graph, {})
    assert files[0].stat().st_size < inside.stat().st_size / 4
    images, _ = textures(2, seed=2)
    found = [room.run_onnx(file, [np.asarray(image) for image in images]) for file in (files[0], inside)]
    assert np.array_equal(*found)


def test_a_file_that_does_not_compute_the_same_is_removed(
    tiny_backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = taught(tiny_backbone, "gelu")
    monkeypatch.setattr(room, "TOLERANCE", 1e-12)
    with pytest.raises(ModelFileError, match="was removed again: its probabilities differ"):
        export_model(learner.snapshot(), tmp_path / "model.onnx", textures(1)[0])
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_says_why(tiny_backbone: Backbone, tmp_path: Path) -> None:
    snapshot = taught(tiny_backbone, "gelu").snapshot()
    with pytest.raises(InputError, match="must end in"):
        export_model(snapshot, tmp_path / "model.pt")
    with pytest.raises(InputError, match="no image to check"):
        export_model(snapshot, tmp_path / "model.onnx", [])
    with pytest.raises(InputError, match="there is no image"):
        export_model(snapshot, tmp_path / "model.onnx", [tmp_path / "gone.png"])
    quantised = Learner(load_backbone(tiny_checkpoint(), precision="int8"), policy="none", projection_dim=64)
    quantised.learn(*textures(2))
    with pytest.raises(BackboneError, match="precision int8"):
        export_model(quantised.snapshot(), tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
