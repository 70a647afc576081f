"""Runs the experiments whose results are shown, and writes docs/results.md and docs/sweeps.md from their tables.

    python docs/make_results.py --data-dir ../shared/data              # all of it: days on one thread
    python docs/make_results.py --data-dir ../shared/data --only steps # one section; the pages take what is there
    python docs/make_results.py --no-run                               # the pages again, from docs/results/runs/

Runs that are complete are not run again, an interrupted one goes on after its last task, and two of these may work
side by side. The results of runs are part of the repository, so that pages grow from sitting to sitting; those made
elsewhere are taken if their files are put beside them. The sections are run in stages: cheap ones and the first seed of
the others come first.
"""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import claims
from draw_results import draw_results

HERE = Path(__file__).parent
RUNS = HERE / "results" / "runs"
TABLES = RUNS / "tables"
PICTURE = "results/accuracy-and-time.png"
DATA = "../shared/data"
"""Where the data are, in the commands that are shown."""

VIT = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"
FOLDERS = re.compile(rf'(?<=[" ])/[^" ]*(?=/{re.escape(VIT)})|(?<=--data-dir )/[^" ]*')
"""Where a run found its data, in its result."""

WHOLE = "--train-per-class 100 --test-per-class 20"
THIRTY = "--train-per-class 30 --test-per-class 20"
BIRDS = "--train-per-class 8 --test-per-class 4"
FEW = "--train-per-class 10 --test-per-class 5"
LEADING = "kem-cls,kem,foro,ranpac,layup,adam,kem-paper,foro-paper,fitness-paper"
OURS = "kem,kem-paper,foro,foro-paper,fitness-paper"
TRAINED = "ft,lwf,l2p,dsg"
PARTS = "ft,entropy-paper,discrepancy-paper,kem-paper,fitness-paper,entropy-kem-paper,discrepancy-kem-paper,foro-paper"
LATER = {1: "0", 3: "0,1,2"}


@dataclass(frozen=True)
class Section:
    """One command of ``foro experiment``, what a reader should see in its result, and its seeds in each stage.

    ``behind`` is for the page of sweeps; ``vit`` takes the ViT-Ti/16 instead of nano.
    """

    name: str
    title: str
    command: str
    words: str = ""
    vit: bool = True
    behind: bool = False
    stages: dict[int, str] = field(default_factory=lambda: {2: "0,1,2"})

    def arguments(self, data_dir: str, stage: int | None = None) -> list[str]:
        """What follows ``foro experiment``, with the seeds of a stage; None: of the last."""
        backbone = ("--backbone", f"{data_dir}/{VIT}") if self.vit else ()
        seeds = self.stages[max(self.stages) if stage is None else stage]
        return [*self.command.split(), *backbone, "--seeds", seeds, "--data-dir", data_dir, "--name", self.name]


def _beside_the_paper(name: str, title: str, command: str) -> Section:
    """The runs of a headline as the paper's Table 1, which takes no further runs."""
    words = "The same runs as in the tables of [Results](results.md), beside the paper's."
    methods = f"table comparison {command} --methods {LEADING}"
    return Section(name, title, methods, words, behind=True, stages={5: "0,1,2"})


def _sweep(name: str, title: str, command: str, words: str = "") -> Section:
    return Section(name, f"{title}, nano", f"{command} {FEW}", words, vit=False, behind=True)


SECTIONS = (
    Section(
        "headline-t10",
        "CIFAR-100 in ten tasks, 30 images a class, 224 px",
        f"table headline --dataset cifar100 --tasks 10 --methods kem,kem-cls,ranpac,foro {THIRTY}",
    ),
    Section(
        "headline-112",
        "CIFAR-100, 100 images a class, 112 px",
        f"table headline --dataset cifar100 --tasks 5,25 --methods {LEADING} --image-size 112 {WHOLE}",
        "A size that the backbone was not trained for.",
        stages=LATER,
    ),
    Section(
        "headline-cub",
        "CUB-200, 8 images a class, 224 px",
        f"table headline --dataset cub200 --tasks 5,25 --methods {LEADING} {BIRDS}",
        stages=LATER,
    ),
    Section(
        "headline-224",
        "CIFAR-100, 100 images a class, 224 px",
        f"table headline --dataset cifar100 --tasks 5,25 --methods {LEADING} {WHOLE}",
        stages={4: "0", 6: "0,1,2"},
    ),
    Section(
        "trained-112",
        "Methods that train on every task, 112 px",
        f"table headline --dataset cifar100 --tasks 5 --methods {TRAINED} --set dsg.preset=fast "
        f"--image-size 112 {WHOLE}",
        "With their published settings, except DSG, which as published needs a text-to-image model.",
        stages={5: "0"},
    ),
    Section(
        "steps",
        "What each part of ours brings, 112 px",
        f"table steps --dataset cifar100 --tasks 10 --image-size 112 {THIRTY}",
        stages=LATER,
    ),
    Section(
        "uneven",
        "Blurry and imbalanced streams, 112 px",
        f"table uneven --dataset cifar100 --tasks 5 --image-size 112 {WHOLE}",
        stages=LATER,
    ),
    _beside_the_paper("paper-112", "CIFAR-100 at 112 px", f"--dataset cifar100 --image-size 112 {WHOLE}"),
    _beside_the_paper("paper-cub", "CUB-200 at 224 px", f"--dataset cub200 {BIRDS}"),
    _beside_the_paper("paper-224", "CIFAR-100 at 224 px", f"--dataset cifar100 {WHOLE}"),
    _sweep(
        "all-methods",
        "Every method of the paper's comparison",
        "table comparison --dataset cifar100 --tasks 5 --set dsg.preset=fast "
        f"--methods {TRAINED},layup,adam,ranpac,{OURS}",
        "Published settings, except DSG, whose generator is trained on ten images a class.",
    ),
    _sweep(
        "complexity",
        "What each method costs",
        "table complexity --dataset cifar100 --tasks 5 --methods ranpac,layup,adam,kem,foro-paper",
    ),
    _sweep("cifar100", "CIFAR-100", f"table comparison --dataset cifar100 --methods {OURS}"),
    _sweep(
        "cub200",
        "CUB-200",
        f"table comparison --dataset cub200 --methods {OURS}",
        "A small input shows little of a bird; the figures compare methods, not models.",
    ),
    _sweep(
        "ablation", "Parts of FoRo as in the paper", f"table ablation --dataset cifar100 --tasks 5 --methods {PARTS}"
    ),
    _sweep(
        "lambda",
        "The weight of the discrepancy",
        "table lambda --dataset cifar100 --methods foro-paper",
        "The paper's table is of ImageNet-R.",
    ),
    _sweep(
        "projection",
        "The width of the random projection",
        "table projection --methods kem,kem-paper",
        "`kem-paper` has γ = 0.1, `kem` chooses γ by cross-validation.",
    ),
    _sweep(
        "population",
        "The population of CMA-ES",
        "figure population --tasks 5 --methods foro-paper --values 2,4,6,14,28",
    ),
    _sweep("prompts", "The number of prompt tokens", "figure prompts --tasks 5 --methods foro-paper --values 1,3,6,10"),
    _sweep(
        "tasks",
        "Long streams",
        "figure tasks --methods kem,kem-paper,foro,foro-paper",
        "On fixed features KEM is the joint ridge solution of all images, whatever the tasks were: its accuracy on all "
        "test images is the same for every T, where the paper reports a loss. A is that accuracy where T divides the "
        "classes, as here. F grows with T for every method: it compares with a time when fewer classes were known.",
    ),
)

MADE = (
    "Made by `python docs/make_results.py --data-dir ../shared/data`: each section has the command that ran it and "
    "what it printed. The data are subsets, as the notes under each table say."
)
SMALL = (
    "Those with nano in their heading are of the embedded backbone, which is small and sees few pixels: what can be "
    "compared is the order of the methods and what a setting changes."
)
ABOUT = f"""{MADE} The backbone is a ViT-Ti/16, pre-trained on ImageNet-21k and fine-tuned on ImageNet-1k: accuracies
are not the paper's, which has a ViT-B/16 and all images.

- T is the number of tasks that the classes come in, A the average accuracy over all tasks after the last one, and F the
  average forgetting: how much of its best accuracy a task has lost by then. Both are in per cent.
- `kem` is FoRo as `foro learn` uses it: tokens of several layers, γ by cross-validation, nothing evolved; `kem-cls`
  reads the last CLS alone; `foro` also evolves gains on the first task and keeps them if they help on what the search
  has not seen.
- Methods that end in `-paper` have the paper's settings: γ = 0.1, Algorithm 1 to the letter.
- RanPAC, LayUP and ADAM train adapters on the first task, with their published settings.

What varies FoRo's settings is on [Sweeps](sweeps.md)."""
PAPER = """What the paper claims, and what was measured here. Ours is with our settings (γ by cross-validation; tokens
of several layers; gains evolved on the first task, kept only if they help on what the search has not seen, then frozen)
and with the paper's (γ = 0.1; Algorithm 1: the prompt evolves through all tasks).

- **KEM does not depend on T.** On fixed features it is the joint ridge solution of all images seen, whatever the tasks
  were. The paper reports a loss from T = 5 to T = 25, which its own closed form cannot have.
- **Algorithm 1 to the letter** moves the features away from those that its statistics were made of, and takes fewer
  steps here than in the paper, because there are fewer images."""
GAMMA = """
- **γ must fit M.** With γ = 0.1, as in the paper, accuracy collapses where M is near the number of images (1,000 in
  these sweeps), and a wide projection hides that."""


def run(section: Section, data_dir: str, stage: int | None = None, *more: str) -> bool:
    """Runs what is missing of a section and writes its table into runs/tables; whether that worked."""
    code = "from foro.cli import main; main()"
    command = [sys.executable, "-c", code, "experiment", *section.arguments(data_dir, stage), "--out", str(RUNS), *more]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0


def hide_folders() -> None:
    """Results say where their data lay on the machine of the run: here they say it as the commands that are shown."""
    for path in RUNS.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        if (shown := FOLDERS.sub(DATA, text)) != text:
            path.write_text(shown, encoding="utf-8")


def was_run(section: Section) -> bool:
    """Whether anything of a section was run."""
    path = TABLES / f"{section.name}.csv"
    if not path.exists():
        return False
    with path.open(newline="") as file:
        return any(cell["ours"] for cell in csv.DictReader(file))


def text_of(section: Section) -> list[str]:
    """A section of a page, with its picture if it is a figure."""
    table = TABLES / f"{section.name}.md"
    whole = shlex.join(["foro", "experiment", *section.arguments(DATA)])
    options = whole.replace(" ", "\0").replace("\0--", " --")  # lines end before an option only
    lines = textwrap.wrap(options, 100, break_long_words=False, break_on_hyphens=False)
    command = " \\\n    ".join(lines).replace("\0", " ")
    _, _, body = table.read_text().partition("\n")  # without its own heading
    parts = [f"## {section.title}", section.words, f"```sh\n{command}\n```", body.strip()]
    picture = table.with_suffix(".png")
    if section.command.startswith("figure"):
        shutil.copy(picture, HERE / "results" / picture.name)
        parts.append(f"![{section.title}](results/{picture.name})")
    return parts


def page(heading: str, opening: list[str], behind: bool) -> str:
    """A page: its opening, then the sections of which something was run."""
    sections = [section for section in SECTIONS if section.behind == behind]
    missing = [section.title for section in sections if not was_run(section)]
    if missing:
        opening = [*opening, f"Not run at all: {'; '.join(missing)}. Under each table stands what else is missing."]
    parts = [heading, *opening, *(part for each in sections if was_run(each) for part in text_of(each))]
    return "\n\n".join(part for part in parts if part) + "\n"


def write_pages() -> None:
    """Both pages, and the picture of the first."""
    (HERE / "results").mkdir(exist_ok=True)
    leading = [
        (section.title, TABLES / f"{section.name}.csv")
        for section in SECTIONS
        if section.name.startswith("headline") and was_run(section)
    ]
    opening = [claims.findings(leading)]
    if figure := draw_results(leading):
        figure.savefig(HERE / PICTURE, dpi=160, metadata={"Software": None})
        opening.append(
            f"[![Accuracy against processor seconds of learning]({PICTURE})]({PICTURE})\n\n"
            "*The longest stream of each table. Up is more accurate, left is faster, on a logarithmic axis.*"
        )
    (HERE / "results.md").write_text(page("# Results", [*opening, ABOUT], behind=False))
    opening = [f"{MADE} {SMALL}"]
    if lines := claims.to_markdown(TABLES):
        measured = [section.name for section in SECTIONS if was_run(section)]
        about = PAPER + GAMMA if "projection" in measured else PAPER
        opening += ["## Where this agrees with the paper, and where not", about, lines]
    (HERE / "sweeps.md").write_text(page("# Sweeps", opening, behind=True))


def main() -> None:
    """Runs the sections, then writes the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", default=DATA)
    parser.add_argument("--only", nargs="+", choices=[section.name for section in SECTIONS], help="only these sections")
    parser.add_argument("--no-run", action="store_true", help="take what is there")
    options = parser.parse_args()
    chosen = [section for section in SECTIONS if section.name in (options.only or [section.name])]
    failed = []
    for stage in [] if options.no_run else sorted({stage for section in chosen for stage in section.stages}):
        for section in chosen:
            if stage in section.stages and not run(section, options.data_dir, stage):
                failed.append(section.name)  # the others go on
    for section in SECTIONS:
        run(section, options.data_dir, None, "--no-run")
    hide_folders()
    write_pages()
    if failed:
        sys.exit(f"failed: {', '.join(dict.fromkeys(failed))}")


if __name__ == "__main__":
    main()
