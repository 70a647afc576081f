from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import os
import numpy as np
from foro.backbones import load_backbone
from tests.backbones.reference import tiny_checkpoint
load_backbone(tiny_checkpoint()).embed(np.zeros((1, 3, 32, 32), np.float32))
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_the_runtime_keeps_no_record_of_its_user(tmp_path: Path) -> None:
    hidden = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**hidden, "HOME": str(tmp_path)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert not [path for path in tmp_path.rglob("*") if "onnx" in path.name.lower()]
