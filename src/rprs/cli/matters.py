"""The verbs of matters: searches with their marks, notes and settings in one file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages, counted
from rprs.cli.options import (
    Before,
    DocumentFormat,
    HitFormat,
    IndexPath,
    QueryFile,
    QueryFiles,
    QueryIds,
    QueryText,
    Undated,
    UndatedDocuments,
    Where,
)
from rprs.cli.queries import QuerySources
from rprs.cli.searching import EXPORTS
from rprs.cli.steering import Ignore, Key, Like, Unlike, read_marks
from rprs.errors import InvalidMatter, UsageError

if TYPE_CHECKING:
    from rprs.index import Index
    from rprs.matters import Matter, Search

MatterPath = Annotated[
    Path, typer.Argument(metavar="MATTER", help="The file of the matter, *.rprs-matter.", show_default=False)
]
Number = Annotated[
    int | None,
    typer.Option("--search", help="The number of the search in the matter.", show_default="the last", min=1),
]
OtherIndex = Annotated[
    Path | None,
    typer.Option(
        "--index", help="The index to search.", metavar="INDEX", show_default="where it was when the search was saved"
    ),
]


def matter() -> None:
    """Keep searches with their marks, notes and settings in one local file, to continue later or to share.

    The web interface opens and saves the same files.

    Example: rprs matter new pellam.rprs-matter

    Example: rprs matter add pellam.rprs-matter cases.rprs brief.pdf --like 2016/brown.txt

    Example: rprs matter run pellam.rprs-matter

    Example: rprs matter export pellam.rprs-matter -o pellam.docx
    """


def new(
    context: typer.Context,
    path: MatterPath,
    name: Annotated[
        str | None, typer.Option("--name", help="The name of the matter.", show_default="that of the file")
    ] = None,
    notes: Annotated[str, typer.Option("--notes", help="Notes about the whole matter.", show_default=False)] = "",
) -> None:
    """Create an empty matter.

    Example: rprs matter new pellam.rprs-matter --name "Dunmore v. Pellam"
    """
    from rprs.matters import new_matter, save_matter

    if path.exists():
        raise UsageError(f"{path} exists already: choose another name, or add to it with `rprs matter add`")
    created = new_matter(path.name.removesuffix(".rprs-matter") if name is None else name)
    save_matter(path, replace(created, notes=notes))
    context.obj.print(f"Created {path}")


def add(
    context: typer.Context,
    path: MatterPath,
    index_path: IndexPath,
    query: QueryFile = None,
    more: QueryFiles = None,
    text: QueryText = None,
    ids: QueryIds = None,
    name: Annotated[str, typer.Option("--name", help="The name of the search.", show_default="that of the query")] = "",
    k: Annotated[int, typer.Option("-k", help="The number of hits.", min=1)] = 10,
    where: Where = None,
    before: Before = None,
    undated: UndatedDocuments = Undated.keep,
    like: Like = None,
    unlike: Unlike = None,
    key: Key = None,
    ignore: Ignore = None,
) -> None:
    """Add a search to a matter: the query with its text, its marks and settings.

    Example: rprs matter add pellam.rprs-matter cases.rprs brief.pdf --where "date < 2016-01-01" --ignore 1-5
    """
    from rprs.index import Index
    from rprs.matters import Settings, new_search
    from rprs.rank.steering import as_marks

    files = [each for each in (query, *(more or ())) if each is not None]
    with _changed(path) as draft, Index(index_path) as index:
        documents = QuerySources(files, text, ids or ()).read(index)
        own = documents[: len(documents) - len(ids or ())]
        marks = as_marks(**read_marks(context.params, documents, index))
        settings = Settings(k=k, where=where, before=before, undated=undated.value)
        search = new_search(index, own, ids or (), name=name, marks=marks, settings=settings)
        draft.matter = replace(draft.matter, searches=(*draft.matter.searches, search))
    context.obj.print(f"{path}: search {len(draft.matter.searches)}, {search.name}")


def mark(
    context: typer.Context,
    path: MatterPath,
    number: Number = None,
    like: Like = None,
    unlike: Unlike = None,
    key: Key = None,
    ignore: Ignore = None,
    hide: Annotated[
        list[str] | None,
        typer.Option("--hide", help="Hide this result. May be repeated.", metavar="ID", show_default=False),
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", help="A note: on the result of --on, or on the matter.", show_default=False)
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", help="A tag: on the result of --on, or on the matter. May be repeated."),
    ] = None,
    on: Annotated[
        str | None, typer.Option("--on", help="The result of --note and --tag.", metavar="ID", show_default=False)
    ] = None,
    index_path: OtherIndex = None,
) -> None:
    """Add marks, notes and tags to a search of a matter.

    Example: rprs matter mark pellam.rprs-matter --like 2016/brown.txt --not 2014/smith.txt

    Example: rprs matter mark pellam.rprs-matter --on 2016/brown.txt --note "Distinguish on the facts" --tag deposit
    """
    from rprs.matters import query_of
    from rprs.rank.steering import as_marks

    with _changed(path) as draft:
        if on is None:
            notes = draft.matter.notes if note is None else note
            draft.matter = replace(draft.matter, notes=notes, tags=_joined(draft.matter.tags, tag or ()))
        if on is None and not any((like, unlike, key, ignore, hide)):
            return
        place, search = choose_search(path, draft.matter, number)
        with open_collection(search, index_path) as index:
            added = read_marks(context.params, query_of(search, index), index)
        marks = {name: (*before, *added[name]) for name, before in asdict(search.marks).items()}  # type: ignore[literal-required]
        search = replace(search, marks=as_marks(**marks), hidden=_joined(search.hidden, hide or ()))
        if on is not None:
            tags = _joined(search.tags.get(on, ()), tag or ())
            search = replace(
                search,
                notes={**search.notes, on: note} if note is not None else search.notes,
                tags={**search.tags, on: tags} if tags else search.tags,
            )
        searches = list(draft.matter.searches)
        searches[place] = search
        draft.matter = replace(draft.matter, searches=tuple(searches))


def show(
    path: MatterPath,
    format: Annotated[
        DocumentFormat, typer.Option("--format", help="The format of the matter.")
    ] = DocumentFormat.table,
) -> None:
    """Show what a matter contains; nothing is searched, and the collection need not be there.

    Example: rprs matter show pellam.rprs-matter
    """
    from rprs.cli.output import print_object, print_rows
    from rprs.matters import matter_object, read_matter

    stored = read_matter(path)
    if format is not DocumentFormat.table:
        print_object(matter_object(stored), lines=format is DocumentFormat.jsonl)
        return
    facts = {"matter": stored.name, "saved": f"{stored.saved}, revision {stored.revision}", "notes": stored.notes}
    facts |= {"tags": ", ".join(stored.tags)}
    for number, search in enumerate(stored.searches, start=1):
        facts[f"search {number}"] = _summary(search)
        facts |= {f"  {id}": _annotation(search, id) for id in {**search.notes, **search.tags}}
    print_rows((name, value) for name, value in facts.items() if value)


def _summary(search: Search) -> str:
    marks = search.marks
    counts = {
        "relevant": len(marks.like),
        "not relevant": len(marks.unlike),
        "key passages": len(marks.key),
        "ignored passages": len(marks.ignore),
        "hidden": len(search.hidden),
    }
    parts = [
        search.name,
        f"in {search.collection.name}",
        *(f"{count:,} {name}" for name, count in counts.items() if count),
    ]
    return ", ".join(parts)


def _annotation(search: Search, id: str) -> str:
    tags = " ".join(f"#{tag}" for tag in search.tags.get(id, ()))
    return " ".join(part for part in (search.notes.get(id, ""), tags) if part)


def run(
    context: typer.Context,
    path: MatterPath,
    number: Number = None,
    index_path: OtherIndex = None,
    format: Annotated[HitFormat, typer.Option("--format", help="The format of the hits.")] = HitFormat.table,
) -> None:
    """Run a search of a matter again, on the collection as it is now, and say what has changed since.

    Example: rprs matter run pellam.rprs-matter --search 2

    Example: rprs matter run pellam.rprs-matter --format csv > hits.csv
    """
    from rprs.cli.evidence import print_hits
    from rprs.cli.output import print_objects
    from rprs.document import combine
    from rprs.matters import current_marks, query_of, read_matter, run_search
    from rprs.results import FORMATS
    from rprs.results.hits import ranking_of
    from rprs.results.run import Run
    from rprs.results.serialize import hit_object
    from rprs.search import Searcher

    messages: Messages = context.obj
    _, search = choose_search(path, read_matter(path), number)
    if format is HitFormat.trec:  # a run ranks documents, not groups
        search = replace(search, settings=replace(search.settings, group=False))
    with open_collection(search, index_path) as index:
        searcher = Searcher(index, progress=messages.progress)
        results, documents = run_search(search, searcher), query_of(search, index)
        id = combine(documents).id
        options: dict[str, Any] = {**asdict(search.settings), **asdict(current_marks(search, index))}
        if format in EXPORTS:
            about = searcher.about(documents, options.pop("k"), **options)
            sys.stdout.write(FORMATS[format.value].write(results, about))
        elif format is HitFormat.trec:
            Run({id: ranking_of(results)}, searcher.system.tag).write(sys.stdout)
        elif format is HitFormat.table:
            print_hits(results, details=False)
        else:
            print_objects([hit_object(hit, id) for hit in results], lines=format is HitFormat.jsonl)
    for note in results.notes:
        messages.print(note)
    messages.print(f"{search.name}: {counted(len(results), 'hit')}")


# ---------------------------------------------------------------------------- files


class _Draft:
    """A matter that is being changed."""

    def __init__(self, matter: Matter) -> None:
        self.matter = matter


@contextmanager
def _changed(path: Path) -> Iterator[_Draft]:
    """A matter that is saved at the end of the block; after an error, nothing has changed."""
    from rprs.matters import read_matter, save_matter

    draft = _Draft(read_matter(path))
    before = draft.matter
    yield draft
    if draft.matter != before:
        save_matter(path, draft.matter)


def choose_search(path: Path, matter: Matter, number: int | None) -> tuple[int, Search]:
    """The place and the value of a search by its number; without one, of the last."""
    size = len(matter.searches)
    if not size:
        raise UsageError(f"{path} has no searches: add one with `rprs matter add {path} INDEX QUERYFILE`")
    if number is not None and number > size:
        raise UsageError(f"{path} has the searches 1 to {size}. Got --search {number}")
    return (number or size) - 1, matter.searches[(number or size) - 1]


@contextmanager
def open_collection(search: Search, index_path: Path | None) -> Iterator[Index]:
    """The index of a search, or another one."""
    from rprs.index import Index

    path = index_path or (Path(search.collection.path) if search.collection.path else None)
    if path is None:
        raise InvalidMatter(f"The matter does not say where {search.collection.name} is: name it with --index")
    if index_path is None and not path.exists():
        raise InvalidMatter(f"The collection {path} of the search is gone: name where it is now with --index")
    with Index(path) as index:
        yield index


def _joined(before: tuple[str, ...], more: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *more)))
