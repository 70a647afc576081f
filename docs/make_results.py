"""Runs the experiments whose results are shown, and writes docs/results.md from what they printed.

    python docs/make_results.py --data-dir ../shared/data              # all of it, about three hours on two cores
    python docs/make_results.py --data-dir ../shared/data --only tasks # one section; the page takes what is there
    python docs/make_results.py --no-run                               # the page again, from the results in runs/

Runs that are complete are not run again, and two of these may work side by side.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import claims

HERE = Path(__file__).parent
TABLES = Path("runs/tables")
SIZES = "--train-per-class 10 --test-per-class 5"
FEWER = "--train-per-class 5 --test-per-class 5"
MAIN = "kem,kem-paper,foro,foro-paper"
OURS = f"{MAIN},fitness-paper"
EVERY = f"ft,lwf,dsg,l2p,layup,adam,ranpac,{OURS}"
PARTS = "entropy-paper,discrepancy-paper,kem-paper,fitness-paper,entropy-kem-paper,discrepancy-kem-paper,foro-paper"
VIT = "vit_tiny_patch16_224.augreg_in21k_ft_in1k"


CLAIMS = """What the paper claims, and what was measured here. Ours is with our settings (γ by
cross-validation; tokens of several layers; gains evolved on the first task, kept only if they help classes that the
search has not seen, then frozen) and with the paper's (γ = 0.1; Algorithm 1: the prompt evolves through all tasks).

- **KEM does not depend on T.** On fixed features it is the joint ridge solution of all images seen, whatever the tasks
  were. The paper reports a loss from T = 5 to T = 25, which its own closed form cannot have.
- **FoRo's gain over KEM depends on the backbone.** Where the check refuses what was found, `foro` is `kem`.
  Algorithm 1 to the letter moves the features away from those that its statistics were made of, and takes fewer steps
  here than in the paper, because there are fewer images.
- **γ must fit M.** With γ = 0.1, as in the paper, accuracy collapses where M is near the number of images (1,000 here),
  and a wide projection hides that. Chosen by cross-validation, γ makes M nearly irrelevant."""


@dataclass(frozen=True)
class Section:
    """One command of ``foro experiment``, and what a reader should see in its result."""

    name: str
    title: str
    command: str
    words: str = ""
    vit: bool = False

    def arguments(self, data_dir: str) -> list[str]:
        """What follows ``foro experiment``."""
        backbone = ("--backbone", f"{data_dir}/{VIT}") if self.vit else ()
        return [*self.command.split(), *backbone, "--data-dir", data_dir, "--name", self.name]


SECTIONS = (
    Section(
        "all-methods",
        "Every method of the paper's comparison, nano",
        f"table comparison --dataset cifar100 --tasks 5 --fast --methods {EVERY} {SIZES}",
        "The gradient methods were given the short training of `--fast`, which suits two cores without a GPU: their "
        "figures say what they reach on such a machine, not what they can reach. The generator of DSG, trained on "
        "ten images a class, makes images that do more harm than good.",
    ),
    Section(
        "all-methods-vit",
        "Every method of the paper's comparison, ViT-Ti/16 at 112 px",
        f"table comparison --dataset cifar100 --tasks 5 --seeds 0 --fast --methods {EVERY} --image-size 112 {SIZES}",
        "One seed, with the short training of `--fast`.",
        vit=True,
    ),
    Section(
        "complexity",
        "What each method costs, nano",
        f"table complexity --dataset cifar100 --tasks 5 --seeds 0 --fast --methods {EVERY} {SIZES}",
        "Every method on the same stream, one after the other, each in a process of its own.",
    ),
    Section(
        "cifar100",
        "CIFAR-100, nano",
        f"table comparison --dataset cifar100 --methods {OURS} {SIZES}",
    ),
    Section(
        "cub200",
        "CUB-200, nano",
        f"table comparison --dataset cub200 --methods {OURS} {FEWER}",
        "A backbone of 64 pixels sees little of a bird; the figures compare methods, not models.",
    ),
    Section(
        "ablation", "Parts of FoRo, nano", f"table ablation --dataset cifar100 --tasks 5 --methods {PARTS} {SIZES}"
    ),
    Section(
        "lambda",
        "The weight of the discrepancy, nano",
        f"table lambda --dataset cifar100 --methods foro-paper {SIZES}",
        "The paper's table is of ImageNet-R.",
    ),
    Section(
        "projection",
        "The width of the random projection, nano",
        f"table projection --methods kem,kem-paper {SIZES}",
        "`kem-paper` has γ = 0.1, `kem` chooses γ by cross-validation.",
    ),
    Section(
        "population",
        "The population of CMA-ES, nano",
        f"figure population --tasks 5 --methods foro-paper --values 2,4,6,14,28 {SIZES}",
    ),
    Section(
        "prompts",
        "The number of prompt tokens, nano",
        f"figure prompts --tasks 5 --methods foro-paper --values 1,3,6,10 {SIZES}",
    ),
    Section(
        "tasks",
        "Long streams, nano",
        f"figure tasks --methods {MAIN} {SIZES}",
        "On fixed features KEM is the joint ridge solution of all images, whatever the tasks were: its accuracy on all "
        "test images is the same for every T, where the paper reports a loss. A is that accuracy where T divides the "
        "classes, as here. F grows with T for every method: it compares with a time when fewer classes were known.",
    ),
    Section(
        "vit-112",
        "CIFAR-100, ViT-Ti/16 at 112 px",
        f"table comparison --dataset cifar100 --methods {MAIN} --seeds 0,1 --image-size 112 {SIZES}",
        vit=True,
    ),
    Section(
        "vit-224",
        "CIFAR-100, ViT-Ti/16 at 224 px",
        f"table comparison --dataset cifar100 --methods {MAIN} --seeds 0 {FEWER}",
        vit=True,
    ),
)


def run(section: Section, data_dir: str, more: list[str]) -> None:
    """Runs what is missing of a section, and writes its table into runs/tables."""
    code = "from foro.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, "experiment", *section.arguments(data_dir), *more], check=True)


def page(data_dir: str) -> str:
    """The page, of all sections that have a table."""
    parts = [
        "# Results",
        "Made by `python docs/make_results.py --data-dir ../shared/data`: each section has the command that ran it and "
        "what it printed. The data are subsets, as the notes under each table say, and nano is a small backbone of 64 "
        "pixels: accuracies are far from the paper's, which has a ViT-B/16 at 224 pixels. What can be compared is the "
        "order of the methods and what a setting changes.",
    ]
    if lines := claims.to_markdown(TABLES):
        parts += ["## Where this agrees with the paper, and where not", CLAIMS, lines]
    for section in SECTIONS:
        table = TABLES / f"{section.name}.md"
        if not table.exists():
            continue
        command = shlex.join(["foro", "experiment", *section.arguments(data_dir)])
        parts += [f"## {section.title}", section.words, f"```sh\n{command}\n```", table.read_text().strip()]
        picture = table.with_suffix(".png")
        if section.command.startswith("figure") and picture.exists():
            (HERE / "results").mkdir(exist_ok=True)
            shutil.copy(picture, HERE / "results" / picture.name)
            parts.append(f"![{section.title}](results/{picture.name})")
    return "\n\n".join(part for part in parts if part) + "\n"


def main() -> None:
    """Runs the sections, then writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", default="../shared/data")
    parser.add_argument("--only", nargs="+", choices=[section.name for section in SECTIONS], help="only these sections")
    parser.add_argument("--no-run", action="store_true", help="take what is there")
    options = parser.parse_args()
    for section in SECTIONS:
        if section.name in (options.only or [section.name]):
            run(section, options.data_dir, ["--no-run"] if options.no_run else [])
    (HERE / "results.md").write_text(page(options.data_dir))


if __name__ == "__main__":
    main()
