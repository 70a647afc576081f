"""What reading more than the last CLS brings: accuracy over all classes at equal M, for several readouts.

python benchmarks/readout.py
python benchmarks/readout.py --sets "nano cifar100,vit-tiny-112 cub200" --seeds 3
python benchmarks/readout.py --readouts "last CLS" "groups: last"

Some of these read what no pass of FoRo gives: the deviation of patch tokens, and their means weighted by the attention
of the last block's CLS. The torch runtime computes all of it here. Layers are computed once and kept in runs/features;
a row that is there is not computed again (runs/readout.jsonl).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from common import BACKBONES, images_of, layers, remembered
from rich.console import Console
from rich.table import Table

from foro import KnowledgeEncoder, load_backbone
from foro.backbones import Backbone
from foro.backbones.catalog import load_checkpoint
from foro.backbones.runtimes.torch_runtime import TorchBackbone
from foro.features.readout import EARLIER, MEANS, Readout, Token
from foro.types import Float32

SETS = "nano cifar100,nano cub200,vit-tiny-112 cifar100,vit-tiny-112 cub200,vit-tiny-224 cifar100,vit-tiny-224 cub200"


class WideBackbone(TorchBackbone):
    """Also gives deviations of patch tokens, then means of these weighted by the attention of the last CLS."""

    @property
    def outputs(self) -> int:
        return self.depth + 3 * len(self._architecture.mean_blocks)

    def _run_forward(self, tokens: Float32, prompts: Float32, gains: Float32 | None) -> Float32:
        """Without candidates, which this has no use for."""
        torch, blocks = self._torch, self._model.blocks
        with torch.inference_mode():
            x, first = self._tensor(tokens), self._architecture.prefix_tokens
            layers, patches = [], []
            for number, block in enumerate(blocks):
                if number == len(blocks) - 1:
                    weights = self._cls_attention(block, x)[:, first:, None]
                x = block(x)
                layers.append(x[:, 0])
                if number in self._architecture.mean_blocks:
                    patches.append(x[:, first:])
            layers[-1] = self._model.norm(layers[-1])
            layers += [each.mean(dim=1) for each in patches] + [each.std(dim=1, correction=0) for each in patches]
            layers += [(each * weights).sum(dim=1) / weights.sum(dim=1) for each in patches]
            read: Float32 = torch.stack(layers, dim=1)[None].cpu().numpy()
        return read

    def _cls_attention(self, block: Any, x: Any) -> Any:
        """How much (n, m) the CLS attends to each token, the mean over heads."""
        attention = block.attn
        split = attention.qkv(block.norm1(x)).unflatten(2, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
        query, key = attention.q_norm(split[0][:, :, :1]), attention.k_norm(split[1])
        return (query @ key.transpose(-2, -1) * attention.scale).softmax(dim=-1).mean(dim=1)[:, 0]


def readouts(backbone: Backbone) -> Iterator[tuple[str, Readout]]:
    """Readouts by what they read, of what ``WideBackbone`` gives for this backbone."""
    groups = Readout.of("groups", backbone)
    last, *earlier, means = groups.tokens
    yield "last CLS", Readout.of("cls", backbone)
    yield "last and earlier CLS in one projection", Readout.of(f"cls{len(earlier) + 1}", backbone)
    halves = [replace(each, share=0.5 / len(earlier)) for each in earlier]
    yield "last CLS ½, earlier CLS ½", replace(groups, tokens=(last, *halves))
    yield "last CLS ½, mean tokens ½", replace(groups, tokens=(last, replace(means, share=0.5)))
    thirds = [replace(last, share=1 / 3), *(replace(each, share=1 / 3 / len(earlier)) for each in earlier)]
    yield "a third each", replace(groups, tokens=(*thirds, replace(means, share=1 / 3)))
    own = [Token((each,), 0.25 / len(means.outputs), means.weight / len(means.outputs)) for each in means.outputs]
    yield "groups, mean tokens each in a projection", replace(groups, tokens=(last, *earlier, *own))
    count = min(backbone.depth - 1, 2 * backbone.depth // 3)
    more = [Token((backbone.depth - 2 - each,), 0.25 / count, EARLIER / count) for each in range(count)]
    yield "groups, two thirds of the layers", replace(groups, tokens=(last, *more, means))
    count = len(means.outputs)
    others = {
        "deviations": Token(tuple(range(backbone.outputs, backbone.outputs + count)), 0.25, MEANS),
        "weighted means": Token(tuple(range(backbone.outputs + count, backbone.outputs + 2 * count)), 0.25, MEANS),
    }
    for title, other in others.items():
        yield f"groups, {title} for mean tokens", replace(groups, tokens=(last, *earlier, other))
        both = [replace(each, share=0.125, weight=MEANS / 2) for each in (means, other)]
        yield f"groups, mean tokens ⅛, {title} ⅛", replace(groups, tokens=(last, *earlier, *both))
    yield "groups: last CLS ½, earlier CLS ¼, mean tokens ¼", groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=SETS, help="backbone and data set, separated by commas")
    parser.add_argument("--readouts", nargs="*", default=[""], help="how the titles of those that are wanted begin")
    parser.add_argument("--seeds", type=int, default=3, help="of the projection")
    parser.add_argument("--size", type=int, default=8192, help="M")
    parser.add_argument("--train-per-class", type=int, default=30, help="CUB-200 has 8 here")
    parser.add_argument("--test-per-class", type=int, default=20, help="CUB-200 has 4 here")
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args()
    rows = []
    for each in options.sets.split(","):
        name, data = each.split()
        place, size = BACKBONES[name]
        dataset = images_of(data, options.train_per_class, options.test_per_class)
        checkpoint = load_checkpoint(place)
        backbone = load_backbone(checkpoint, image_size=size, threads=options.threads)
        wide = WideBackbone(checkpoint, image_size=size, threads=options.threads)
        read = cache(partial(layers, wide, dataset))

        def accuracy(readout: Readout, seed: int, read=read, dataset=dataset) -> float:
            blocks = () if readout.together else readout.blocks(options.size)
            head = KnowledgeEncoder(readout.features, options.size, seed=seed, blocks=blocks)
            train, test = read()
            head.absorb(readout(train), dataset.train.labels)
            answers = zip(head.predict(readout(test)), dataset.test.labels, strict=True)
            return 100 * float(np.mean([answer == label for answer, label in answers]))

        for title, readout in readouts(backbone):
            if not title.startswith(tuple(options.readouts)):
                continue
            for seed in range(options.seeds):
                key = [each, dataset.description, options.size, title, seed]
                value = remembered("readout.jsonl", key, partial(accuracy, readout, seed))
                rows.append({"key": key, "accuracy": value})
    show(rows, options.size)


def show(rows: list[dict], size: int) -> None:
    """One table: readouts down, backbones and data sets across; means and standard errors over seeds."""
    sets = list(dict.fromkeys(row["key"][0] for row in rows))
    console = Console(width=150)
    for name in sets:
        console.print(f"{name}: {next(row['key'][1] for row in rows if row['key'][0] == name)}")
    table = Table(title=f"accuracy in % over all classes, M = {size}, γ by cross-validation, ± s.e. over projections")
    table.add_column("the head sees")
    for name in sets:
        table.add_column(name, justify="right")
    for title in dict.fromkeys(row["key"][3] for row in rows):
        cells = []
        for name in sets:
            found = [row["accuracy"] for row in rows if row["key"][0] == name and row["key"][3] == title]
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
            cells.append(f"{np.mean(found):.1f} ± {error:.1f}" if found else "")
        table.add_row(title, *cells)
    console.print(table)


if __name__ == "__main__":
    main()
