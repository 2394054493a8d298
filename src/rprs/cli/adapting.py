"""The verbs that train a model: on the texts of a domain, or on judgements."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import Exclude, First, IndexPath, Queries
from rprs.cli.queries import read_listed_queries
from rprs.cli.tuning import Judgements

if TYPE_CHECKING:
    from rprs.adapt.export import Adapted

PLACES = ("path", "source", "queries", "qrels", "exclude", "only", "base", "to")
DEPTH = 50  # of the ranking that negatives are drawn from: the depth of the paper for case law

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help='The source of the sentences: an index, a folder or file of documents, or a collection: "beir(folder)".',
        show_default=False,
    ),
]
Base = Annotated[
    str,
    typer.Option(
        "--base",
        help='The model to start from: a name, a folder, or an untrained one, "new(layers=4, width=256, heads=4)".',
        metavar="MODEL",
        show_default=False,
    ),
]
To = Annotated[
    Path, typer.Option("--to", help="The folder for the trained model.", metavar="FOLDER", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", help="The seed of all random choices.", min=0)]
Rate = Annotated[float, typer.Option("--rate", help="The learning rate (constant).")]
Sample = Annotated[int, typer.Option("--sentences", help="The number of sentences to sample from the source.", min=1)]
Epochs = Annotated[int, typer.Option("--epochs", help="The number of passes over the sample.", min=1)]
Length = Annotated[int, typer.Option("--length", help="The maximum number of tokens of a sentence.", min=8)]
Batch = Annotated[int, typer.Option("--batch", help="Sentences per step.", min=1)]
Noise = Annotated[float, typer.Option("--noise", help="The share of words to delete.", min=0, max=0.99)]
Contrast = Annotated[
    float,
    typer.Option("--contrast", help="The weight of the contrastive loss; 0: only masked words.", min=0),
]
Margin = Annotated[
    float,
    typer.Option("--margin", help="Pairs from different documents have no loss below this cosine.", min=-1, max=1),
]
Checkpoint = Annotated[
    int, typer.Option("--checkpoint", help="Steps between checkpoints, from which training resumes.", min=1)
]
Depth = Annotated[
    int,
    typer.Option("--depth", help="The number of candidates to draw negatives from and to validate on.", min=1),
]
Only = Annotated[
    Path | None,
    typer.Option("--queries-list", help="Train only on these queries: a file with one id per line.", metavar="FILE"),
]
Triples = Annotated[int, typer.Option("--batch", help="Triples per step.", min=1)]
Triplet = Annotated[
    float, typer.Option("--triplet", help="The weight of the triplet loss; 0: only the ranking loss.", min=0)
]
Part = Annotated[
    int, typer.Option("--part", help="Token sequences in memory at a time; a smaller number needs less memory.", min=3)
]
Window = Annotated[int, typer.Option("--window", help="The most tokens of query and document together.", min=8)]
Steps = Annotated[int, typer.Option("--steps", help="The maximum number of steps; validation may stop earlier.", min=1)]
Every = Annotated[int, typer.Option("--every", help="Steps between validations.", min=1)]
Patience = Annotated[
    int, typer.Option("--patience", help="Stop after this number of validations without a better P@5.", min=1)
]
Valid = Annotated[
    float, typer.Option("--valid", help="The share of queries held out for validation; 0: none.", min=0, max=0.9)
]


def adapt(context: typer.Context) -> None:
    """Adapt a model to a domain or to judgements; needs torch.

    The same command resumes an interrupted training. The result is a folder that search uses without torch.
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

    Some words are deleted, the others are encoded as one vector, and a decoder with the same weights must rebuild the
    sentence from it. This helps a plain language model and harms one that was trained on pairs of sentences, such as
    all-MiniLM-L6-v2.

    Use the result with --encoder "onnx(FOLDER)" or "fitted(teacher=FOLDER)".

    Example: rprs adapt tsdae cases.rprs --base nlpaueb/legal-bert-base-uncased --to legal-tsdae

    Example: rprs adapt tsdae "beir(cases)" --base "new(layers=4,width=256,heads=4)" --to small --sentences 50000
    """
    started, messages = perf_counter(), context.obj
    with messages.progress("loading torch"):
        from rprs.adapt.tsdae import tsdae as train
    adapted = train(source, base, to, **_settings(context), progress=messages.progress, notify=messages.print)
    _print_result(messages, adapted, started, f'--encoder "onnx({to})"')


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

    15% of the words are masked and predicted; sentences of one paragraph are moved together, sentences of different
    documents apart. With --contrast 0, this is plain pre-training on masked words.

    Use the result with --encoder "onnx(FOLDER)" or "fitted(teacher=FOLDER)".

    Example: rprs adapt sdr cases.rprs --base FacebookAI/roberta-large --to wines-sdr --epochs 3

    Example: rprs adapt sdr texts/ --base "new(layers=4,width=256,heads=4)" --to small --contrast 0
    """
    started, messages = perf_counter(), context.obj
    with messages.progress("loading torch"):
        from rprs.adapt.sdr import sdr as train
    adapted = train(source, base, to, **_settings(context), progress=messages.progress, notify=messages.print)
    _print_result(messages, adapted, started, f'--encoder "onnx({to})"')


def mtft(
    context: typer.Context,
    path: IndexPath,
    queries: Queries,
    qrels: Judgements,
    base: Base,
    to: To,
    first: First = "bm25",
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
    """Fine-tune a cross-encoder on judged queries as MTFT-BERT does, with a ranking loss and a triplet loss.

    It learns from triples: a query, a relevant document, and another document of the first stage's ranking. The ranking
    loss scores the relevant document higher; the triplet loss moves it closer to the query where each is encoded alone.
    Some queries are held out, and the weights with the best P@5 on them are kept.

    Use the result with --rerank "cross(FOLDER)".

    Example: rprs adapt mtft cases.rprs train.jsonl --qrels qrels.txt --base google-bert/bert-base-uncased --to mtft

    Example: rprs adapt mtft cases.rprs train.jsonl --qrels qrels.txt --base legal-bert --to plain --triplet 0
    """
    from rprs.encode.pairs import WINDOW
    from rprs.index import Index
    from rprs.read import read_exclusions, read_qrels

    started, messages = perf_counter(), context.obj
    with messages.progress("loading torch"):
        from rprs.adapt.mtft import mtft as train
    judgements, excluded = read_qrels(qrels), read_exclusions(exclude, queries)
    output = {"progress": messages.progress, "notify": messages.print}
    with Index(path) as index:
        documents = read_listed_queries(messages, queries, only)
        adapted = train(index, documents, judgements, base, to, excluded=excluded, **_settings(context), **output)
    suffix = "" if window == WINDOW else f",window={window}"  # search with the window of the training
    _print_result(messages, adapted, started, f'--rerank "cross({to}{suffix})"')


def _settings(context: typer.Context) -> dict[str, Any]:
    """The options that are keyword arguments of the library."""
    return {name: value for name, value in context.params.items() if name not in PLACES}


def _print_result(messages: Messages, adapted: Adapted, started: float, usage: str) -> None:
    """The folder of the model, the losses, and how to use it."""
    typer.echo(adapted.folder)
    first, last = adapted.curve.first(), adapted.curve.last()
    losses = ", ".join(f"{name} loss {first[name]:.3f} → {last[name]:.3f}" for name in last)
    values = adapted.curve.values
    best = f", best {adapted.curve.measure} {max(values.values()):.3f}" if values else ""
    steps = counted(len(adapted.curve.losses), "step")
    messages.print(f"{steps} in {perf_counter() - started:.1f} s: {losses}{best}; use it with {usage}")
