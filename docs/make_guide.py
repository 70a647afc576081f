"""Writes docs/guide.md: runs every command of the guide on real images, and puts down what they print.

Needs CUB-200-2011 and the ViT-Ti/16 in FORO_SHARED_DATA (default ../shared/data). Takes a few minutes.

python docs/make_guide.py
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from foro.images.samples import Samples
from foro.research.datasets.registry import load_dataset

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FORO_SHARED_DATA", HERE.parents[1] / "shared" / "data"))
BACKBONE = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
PICTURE = "guide-confusion.png"

ASK = (HERE / "ask.py").read_text(encoding="utf-8")


class Guide:
    """The page as it grows, and the folder that its commands run in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.text: list[str] = []

    def say(self, text: str) -> None:
        self.text.append(text.strip())

    def run(self, *commands: str, expected: int = 0) -> str:
        """Runs commands, one after another, and writes down what a user would see."""
        shown = []
        for command in commands:
            words = shlex.split(command)
            if words[0] == "foro":
                words = [sys.executable, "-c", "from foro.cli import main; main()", *words[1:]]
            elif words[0] == "python":
                words[0] = sys.executable
            print(f"$ {command}", flush=True)
            environment = {**os.environ, "COLUMNS": "110", "HF_HUB_OFFLINE": "1"}
            ran = subprocess.run(
                words, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            if ran.returncode != expected:
                sys.exit(f"{command} ended with {ran.returncode}, not {expected}:\n{ran.stdout}")
            if str(self.folder) in ran.stdout or str(DATA.resolve()) in ran.stdout:
                sys.exit(f"{command} printed a path of this computer:\n{ran.stdout}")
            shown.append(f"$ {command}\n{ran.stdout.rstrip()}")
        self.text.append("```\n" + "\n\n".join(shown) + "\n```")
        return shown[-1]


def lay_out(folder: Path, samples: Samples, species: list[str]) -> None:
    """A folder of class folders with links to the images of some species."""
    for path, label in zip(samples.images, samples.labels, strict=True):
        if label in species:
            place = folder / str(label)
            place.mkdir(parents=True, exist_ok=True)
            (place / Path(str(path)).name).symlink_to(Path(str(path)).resolve())


def write(guide: Guide, asked: list[str], forgotten: str, renamed: str) -> None:
    say, run = guide.say, guide.run
    say(f"""
# Forty birds, and then some

This page shows what the commands print on real images: bird species of
[CUB-200-2011](https://www.vision.caltech.edu/datasets/cub_200_2011/) (Wah et al., 2011) with the frozen vision
transformer `{BACKBONE}`. [make_guide.py](make_guide.py) wrote this page: it ran
every command as it stands here, on a part of the data set. There are 8 images of each species to learn from and 4 more
to test with, of about 30 and 29 in the whole data set. It ran on an ordinary processor without a GPU or PyTorch,
while the machine had much else to do: the times are longer than on a quiet computer.

The images are in folders, and the name of a folder is the label of its images:
""")
    run("ls", "ls week-1")
    say("""
## Learn twenty birds

The first `learn` makes the model file.
""")
    run(f"foro learn birds.foro week-1 --backbone {BACKBONE}")
    say("## A week later: twenty more\n\nNothing of the first week is needed again, and nothing of it is lost.")
    run("foro learn birds.foro week-2", "foro info birds.foro")
    say("Images that are known already are not learned twice, so when a folder has grown, simply teach it again.")
    run("foro learn birds.foro week-2")
    say("""
## How good is it?

These are images that it has never seen: first of the species of the first week, then of the second. Each time it
chooses among all forty species.
""")
    run("foro evaluate birds.foro test-1", f"foro evaluate birds.foro test-2 --confusion {PICTURE}")
    say(f"![Confusion matrix of the second twenty birds]({PICTURE})")
    say("""
Ask about single images. The confidence means something: of all answers with about 80 %, about 80 % should be right, and
`foro evaluate --html` shows how well that holds.
""")
    run(f"foro predict birds.foro {' '.join(asked)} --top 3", f"foro predict birds.foro {asked[0]} --json")
    say("## Forget one\n\nThe label is not predicted any more, until `foro forget --undo`.")
    run(f"foro forget birds.foro {forgotten}", "foro evaluate birds.foro test-1")
    say("""
## Undo

`undo` takes back the last change, whatever it was. Run it again to take back the one before.
""")
    run("foro undo birds.foro")
    say("""
## Merge with a model that was taught elsewhere

Somebody else teaches ten other birds, with the same backbone and projection (`--like`). Merging the two gives the model
that would have learned everything. `--dry-run` says beforehand what would be learned, what would be skipped, what is
new, and what looks like a mistake.
""")
    run(
        "foro learn harbour.foro elsewhere --like birds.foro --dry-run",
        "foro learn harbour.foro elsewhere --like birds.foro",
        "foro merge birds.foro harbour.foro -o all.foro",
        "foro evaluate all.foro test-3",
    )
    say("""
## Keep it in order

`rename` changes a label; if the new name is known too, both become one class, as if they had been learned that way.
`--verify` reads the whole file and compares every array with its checksum, which also happens before anything more is
learned.
""")
    run(f"foro rename harbour.foro {renamed} 'a bird of the harbour'", "foro info harbour.foro --verify --log 1")
    say("""
## Take it anywhere

`export` writes one ONNX graph, from the bytes of an image to probabilities, and checks it:
""")
    run("foro export all.foro birds.onnx --check test-3", "foro export all.foro birds.safetensors")
    say("""
Any program with an ONNX runtime can use it: the metadata of the file says how to prepare an image, step by step. In
Python, without FoRo ([ask.py](ask.py)):
""")
    guide.text.append(f"```python\n{ASK}```")
    (guide.folder / "ask.py").write_text(ASK)
    run(f"python ask.py birds.onnx {' '.join(asked)}", f"foro predict all.foro {' '.join(asked)}")
    say("""
## More

`foro --help` lists all commands, and `foro COMMAND --help` has examples of each. For scripts, every command but
`serve` takes `--json`, and the exit code is 0 if all went well, 1 if some images could not be read and were skipped, 2
if nothing was done because something is wrong with what was given, and 3 if all was done but the model file could not
be written.
`foro --install-completion` lets your shell complete commands and options. The same can be done [in Python](python.md).
""")


def main() -> None:
    if not (DATA / BACKBONE).is_dir():
        sys.exit(f"no {BACKBONE} in {DATA}; set FORO_SHARED_DATA")
    birds = load_dataset("cub200", DATA)
    species = list(dict.fromkeys(birds.train.labels))
    groups = {"1": species[:20], "2": species[20:40], "3": species[40:50]}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        (folder / BACKBONE).symlink_to((DATA / BACKBONE).resolve())
        for name, group in groups.items():
            train = "elsewhere" if name == "3" else f"week-{name}"
            lay_out(folder / train, birds.train, [str(label) for label in group])
            lay_out(folder / f"test-{name}", birds.test, [str(label) for label in group])
        asked = [
            str(sorted((folder / f"test-{part}" / str(groups[part][number])).iterdir())[0].relative_to(folder))
            for part, number in (("1", 3), ("2", 11))
        ]
        guide = Guide(folder)
        write(guide, asked, str(groups["1"][4]), str(groups["3"][0]))
        (HERE / PICTURE).write_bytes((folder / PICTURE).read_bytes())
    (HERE / "guide.md").write_text("\n\n".join(guide.text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
