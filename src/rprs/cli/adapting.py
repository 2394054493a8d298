"""The verbs that adapt a model: to the language of a domain, or to judgements."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.options import FIRST, Exclude, First, IndexPath, Queries
from rprs.cli.queries import read_listed_queries
from rprs.cli.talk import Talk, counted
from rprs.cli.tuning import Judgements

if TYPE_CHECKING:
    from rprs.adapt.export import Adapted

PLACES = ("path", "source", "queries", "qrels", "exclude", "only", "base", "to")
DEPTH = 50  # of the ranking that negatives are drawn from: as deep as the paper re-ranks case law

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help='Where the sentences are: an index, a folder or file of documents, or a collection: "beir(folder)".',
        show_default=False,
    ),
]
Base = Annotated[
    str,
    typer.Option(
        "--base",
        help='The model to begin with: a name, a folder, or a fresh one, "new(layers=4, width=256, heads=4)".',
        metavar="MODEL",
        show_default=False,
    ),
]
To = Annotated[
    Path, typer.Option("--to", help="The folder of the model that comes out.", metavar="FOLDER", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="Decides all that is drawn: another number, another model.", min=0)]
Rate = Annotated[float, typer.Option("--rate", help="The learning rate, which is constant.")]
Sample = Annotated[int, typer.Option("--sentences", help="How many sentences are drawn from the source.", min=1)]
Epochs = Annotated[int, typer.Option("--epochs", help="How often each of them is seen.", min=1)]
Length = Annotated[int, typer.Option("--length", help="Tokens of a sentence that are read.", min=8)]
Batch = Annotated[int, typer.Option("--batch", help="Sentences a step.", min=1)]
Noise = Annotated[float, typer.Option("--noise", help="The share of words that is deleted.", min=0, max=0.99)]
Contrast = Annotated[
    float, typer.Option("--contrast", help="The weight of the contrastive loss; 0: masked words alone.", min=0)
]
Margin = Annotated[
    float, typer.Option("--margin", help="Pairs from two documents cost nothing below this cosine.", min=-1, max=1)
]
Checkpoint = Annotated[
    int, typer.Option("--checkpoint", help="Steps between two checkpoints, from which a training goes on.", min=1)
]
Depth = Annotated[
    int,
    typer.Option("--depth", help="The best of the first stage, to draw negatives from and to validate on.", min=1),
]
Only = Annotated[
    Path | None, typer.Option("--queries-list", help="Train on these queries alone: an id a line.", metavar="FILE")
]
Triples = Annotated[int, typer.Option("--batch", help="Triples a step.", min=1)]
Triplet = Annotated[
    float, typer.Option("--triplet", help="The weight of the triplet loss; 0: the ranking loss alone.", min=0)
]
Part = Annotated[
    int, typer.Option("--part", help="Sequences of tokens in memory at a time; fewer need less of it.", min=3)
]
Window = Annotated[int, typer.Option("--window", help="Tokens that are read of query and document together.", min=8)]
Steps = Annotated[int, typer.Option("--steps", help="The most steps; validation may end it before.", min=1)]
Every = Annotated[int, typer.Option("--every", help="Steps between two validations.", min=1)]
Patience = Annotated[
    int, typer.Option("--patience", help="Stop after so many validations without a better P@5.", min=1)
]
Valid = Annotated[
    float, typer.Option("--valid", help="The share of queries held out for validation; 0: none.", min=0, max=0.9)
]


def adapt(context: typer.Context) -> None:
    """Adapt a model to a domain, or to judgements; needs torch.

    A training that was stopped or killed goes on where it was when the same command is given again. What comes out is
    a folder that search uses without torch.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def tsdae(
    context: typer.Context,
    source: Source,
    base: Base,
    to: To,
    sentences: Sample = 10_000,
    epochs: Epochs = 1,
    batch: Batch = 8,
    rate: Rate = 3e-5,
    noise: Noise = 0.6,
    length: Length = 128,
    seed: Seed = 0,
    checkpoint: Checkpoint = 100,
) -> None:
    """Adapt an encoder to a domain by TSDAE: rebuild sentences from a few of their words.

    Words are deleted, the rest becomes one vector, and a decoder with the same weights must rebuild the sentence from
    it. That helps a plain language model and hurts one that was trained on pairs, such as all-MiniLM-L6-v2.

    The result is for --encoder "onnx(FOLDER)" and "fitted(teacher=FOLDER)".

    Example: rprs adapt tsdae cases.rprs --base nlpaueb/legal-bert-base-uncased --to legal-tsdae

    Example: rprs adapt tsdae "beir(cases)" --base "new(layers=4,width=256,heads=4)" --to small --sentences 50000
    """
    started, talk = perf_counter(), context.obj
    with talk.progress("loading torch"):
        from rprs.adapt.tsdae import tsdae as train
    made = train(source, base, to, **_settings(context), progress=talk.progress, notify=talk.say)
    _tell(talk, made, started, f'--encoder "onnx({to})"')


def sdr(
    context: typer.Context,
    source: Source,
    base: Base,
    to: To,
    sentences: Sample = 10_000,
    epochs: Epochs = 1,
    batch: Batch = 16,
    rate: Rate = 3e-5,
    contrast: Contrast = 1.0,
    margin: Margin = 0.0,
    length: Length = 128,
    seed: Seed = 0,
    checkpoint: Checkpoint = 100,
) -> None:
    """Adapt an encoder to a domain as SDR does: masked words, and sentences of one paragraph against others.

    15 % of the words are masked and guessed; pairs of sentences from one paragraph are drawn together, pairs from
    different documents apart. With --contrast 0 it is plain pre-training on masked words.

    The result is for --encoder "onnx(FOLDER)" and "fitted(teacher=FOLDER)".

    Example: rprs adapt sdr cases.rprs --base FacebookAI/roberta-large --to wines-sdr --epochs 3

    Example: rprs adapt sdr texts/ --base "new(layers=4,width=256,heads=4)" --to small --contrast 0
    """
    started, talk = perf_counter(), context.obj
    with talk.progress("loading torch"):
        from rprs.adapt.sdr import sdr as train
    made = train(source, base, to, **_settings(context), progress=talk.progress, notify=talk.say)
    _tell(talk, made, started, f'--encoder "onnx({to})"')


def mtft(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    qrels: Judgements,
    base: Base,
    to: To,
    first: First = FIRST,
    depth: Depth = DEPTH,
    exclude: Exclude = None,
    only: Only = None,
    triplet: Triplet = 1.0,
    batch: Triples = 32,
    part: Part = 8,
    rate: Rate = 3e-5,
    window: Window = 512,
    steps: Steps = 5_000,
    every: Every = 100,
    patience: Patience = 10,
    valid: Valid = 0.2,
    seed: Seed = 0,
    checkpoint: Checkpoint = 25,
) -> None:
    """Fine-tune a cross-encoder on judged queries, as MTFT-BERT: rank pairs and, beside it, place documents.

    It learns from triples: a query, a relevant document, and another one from the first stage's ranking. One loss wants
    the relevant one to score higher; the other wants it nearer to the query where each is encoded alone. Some queries
    are held out, and the weights with the best P@5 on them are kept.

    The result is for --rerank "cross(FOLDER)".

    Example: rprs adapt mtft cases.rprs train.jsonl --qrels qrels.txt --base google-bert/bert-base-uncased --to mtft

    Example: rprs adapt mtft cases.rprs train.jsonl --qrels qrels.txt --base legal-bert --to plain --triplet 0
    """
    from rprs.encode.pairs import WINDOW
    from rprs.index import Index
    from rprs.read import read_exclusions, read_qrels

    started, talk = perf_counter(), context.obj
    with talk.progress("loading torch"):
        from rprs.adapt.mtft import mtft as train
    judged, excluded = read_qrels(qrels), read_exclusions(exclude, queries)
    told = {"progress": talk.progress, "notify": talk.say}
    with Index(path) as index:
        asked = read_listed_queries(talk, queries, only)
        made = train(index, asked, judged, base, to, excluded=excluded, **_settings(context), **told)
    wide = "" if window == WINDOW else f",window={window}"  # a model is to see what it was trained on
    _tell(talk, made, started, f'--rerank "cross({to}{wide})"')


def _settings(context: typer.Context) -> dict[str, Any]:
    """The options that the library has under the same names."""
    return {name: value for name, value in context.params.items() if name not in PLACES}


def _tell(talk: Talk, made: Adapted, started: float, use: str) -> None:
    """Where the model is; how the losses went, and what it is for."""
    typer.echo(made.folder)
    first, last = made.curve.first(), made.curve.last()
    losses = ", ".join(f"{name} loss {first[name]:.3f} → {last[name]:.3f}" for name in last)
    values = made.curve.values
    best = f", best {made.curve.measure} {max(values.values()):.3f}" if values else ""
    steps = counted(len(made.curve.losses), "step")
    talk.say(f"{steps} in {perf_counter() - started:.1f} s: {losses}{best}; use it with {use}")
