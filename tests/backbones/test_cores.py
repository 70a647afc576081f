from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from foro.backbones import load_backbone
from tests.backbones.reference import tiny_checkpoint
backbone = load_backbone(tiny_checkpoint())
backbone.embed(np.zeros((1, 3, 32, 32), np.float32))
print({core for thread in os.listdir("/proc/self/task") for core in os.sched_getaffinity(int(thread))})
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system binds no process to cores")
def test_a_process_bound_to_one_core_stays_there() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{{{min(os.sched_getaffinity(0))}}}\n"), done.stderr
