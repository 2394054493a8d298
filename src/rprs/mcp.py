"""An MCP server: the tools of an assistant that runs on this computer and cites evidence (extra: mcp).

Each tool is a method of `Tools`: plain arguments in, one JSON object out. The server speaks over standard input and
output with the program that started it, and with nothing else. Files can be named only in folders that the user allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import wraps
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any

from rprs import __version__
from rprs.alignment.evidence import most_telling
from rprs.alignment.values import KINDS, Alignment, Coverage, Kind, Pair
from rprs.charts.serialize import chart_object
from rprs.document import Document
from rprs.errors import MissingExtra, RprsError, UsageError
from rprs.passages.export import passages_object
from rprs.read import read_one
from rprs.results.hits import Hit
from rprs.serve.service import Service, Snapshot

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import ToolAnnotations
    from pydantic import Field
except ImportError as error:
    raise MissingExtra("rprs mcp", "the MCP SDK", "mcp") from error

__all__ = ["Tools", "make_server"]

MOST = 50  # hits, matches or passages of one call: an assistant reads all of them
CHARACTERS = 20_000  # of a document in one call
INSTRUCTIONS = (
    "Finds documents in a local collection that are similar to a whole document, and shows why. Give the query as the "
    "`file` of the user where you can, so that its whole text is compared; otherwise as `text`, or as the `id` of a "
    "document of the collection. Quote only passages that a tool returned, with the id of their document. "
    "Shares and kinds of match (identical, reworded, same idea) describe wording, not legal relevance."
)

Text = Annotated[str | None, Field(description="The text of the query document, complete.")]
File = Annotated[str | None, Field(description="The path of the query document, in a folder that the user allowed.")]
Id = Annotated[str | None, Field(description="The id of a document of the collection, as the query.")]
Best = Annotated[int, Field(description="The number of results.", ge=1, le=MOST)]
Where = Annotated[str | None, Field(description='A metadata filter: "date < 2016-01-01 and court = ca9".')]
Before = Annotated[str | None, Field(description="Nothing newer than this date (2015-06-01).")]
Target = Annotated[str, Field(description="The id of the document to explain, from a search.", min_length=1)]
Start = Annotated[int, Field(description="The first character to return.", ge=0)]
Length = Annotated[int, Field(description="How many characters to return.", ge=1, le=CHARACTERS)]
Passage = Annotated[str, Field(description="A passage: a sentence or a few.", min_length=1)]

Values = dict[str, Any]


class Tools:
    """The tools over one index. Files may be read from `folders` only."""

    def __init__(self, service: Service, folders: Iterable[Path] = ()) -> None:
        self.service = service
        self.folders = [_folder(folder) for folder in folders]

    @property
    def all(self) -> list[Callable[..., Values]]:
        """All tools."""
        return [self.search, self.explain, self.read, self.passages, self.coverage]

    def search(
        self,
        text: Text = None,
        file: File = None,
        id: Id = None,
        k: Best = 10,
        where: Where = None,
        before: Before = None,
    ) -> Values:
        """Find the documents most similar to a whole document, each with its most telling matching passages.

        Give the query as exactly one of file, text and id.
        """
        with self.service.snapshot() as snapshot:
            searcher = snapshot.searcher(self.service.system)
            results = searcher.search(self._query(snapshot, text, file, id), k, where=where, before=before)
            hits = [_hit_object(hit) for hit in results]
            return {**_collection(snapshot), "hits": hits, "notes": list(results.notes)}

    def explain(
        self,
        document: Target,
        text: Text = None,
        file: File = None,
        id: Id = None,
        k: Best = 20,
        kind: Kind | None = None,
    ) -> Values:
        """Show why one document of the collection is similar to the query: the most telling matches, and the rest.

        Give the query as exactly one of file, text and id. A match has the words of both documents and their positions.
        `without_match` has the sentences of the query that the document has no counterpart of.
        """
        with self.service.snapshot() as snapshot:
            query = self._query(snapshot, text, file, id)
            alignment = snapshot.searcher(self.service.system).align(query, document)
            return {**_collection(snapshot), **_alignment_object(alignment, k, [kind] if kind else KINDS)}

    def read(self, id: Target, start: Start = 0, length: Length = 4000) -> Values:
        """Read a part of the text of a document in the collection, for the context of a match."""
        with self.service.snapshot() as snapshot:
            stored = snapshot.index.document(id)
        if start >= max(1, len(stored.text)):
            raise UsageError(f"The document {id!r} has {len(stored.text):,} characters; start must be less")
        text = stored.text[start : start + length]
        place = {"start": start, "end": start + len(text), "characters": len(stored.text)}
        return {"id": stored.id, "title": stored.title, "metadata": dict(stored.metadata), **place, "text": text}

    def passages(self, text: Passage, k: Best = 10, where: Where = None) -> Values:
        """Find the passages of the whole collection that are most similar to a passage, each in its document."""
        with self.service.snapshot() as snapshot:
            found = snapshot.searcher(self.service.system).passages(text, k, where=where)
            return {**_collection(snapshot), **passages_object(found)}

    def coverage(self, text: Text = None, file: File = None, id: Id = None, k: Best = 10) -> Values:
        """Show which parts of a document the best results cover, and which parts none of them covers.

        Give the query as exactly one of file, text and id.
        """
        with self.service.snapshot() as snapshot:
            chart = snapshot.searcher(self.service.system).coverage(self._query(snapshot, text, file, id), k=k)
            return {**_collection(snapshot), **chart_object(chart)}

    def _query(self, snapshot: Snapshot, text: str | None, file: str | None, id: str | None) -> Document:
        if sum(value is not None for value in (text, file, id)) != 1:
            raise UsageError("Give the query as exactly one of file, text and id")
        if id is not None:
            return snapshot.index.document(id)
        return Document("query", text) if text is not None else self._file(file or "")

    def _file(self, name: str) -> Document:
        try:
            path = Path(name).expanduser().resolve()  # a link out of an allowed folder leads out of it
        except (OSError, RuntimeError, ValueError) as error:  # no such user, a zero in the name, a loop of links
            raise UsageError(f"{name!r:.80} cannot be the path of a file") from error
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders)) or "none"
            raise UsageError(f"{name}: not in a folder that this server may read ({allowed}): see rprs mcp --files")
        return read_one(path)


def make_server(tools: Tools) -> MCPServer[Any]:
    """The server; `run("stdio")` serves until standard input is closed."""
    server: MCPServer[Any] = MCPServer("rprs", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    reading = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in tools.all:
        server.add_tool(_with_short_errors(tool), description=cleandoc(tool.__doc__ or ""), annotations=reading)
    return server


def _with_short_errors(tool: Callable[..., Values]) -> Callable[..., Values]:
    """The tool with errors of the user as a line that the assistant can read; others stay in this process."""

    @wraps(tool)
    def call(*arguments: Any, **options: Any) -> Values:
        try:
            return tool(*arguments, **options)
        except RprsError as error:
            raise ToolError(" ".join(str(error).split())) from error

    return call


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --files names a folder whose files the assistant may use")
    return folder.resolve()


# ---------------------------------------------------------------------------- JSON


def _collection(snapshot: Snapshot) -> Values:
    """What a citation needs: the name and state of the collection."""
    return {"index": snapshot.index.path.resolve().name, "fingerprint": snapshot.fingerprint}


def _hit_object(hit: Hit) -> Values:
    return {
        "rank": hit.rank,
        "id": hit.id,
        "title": hit.title,
        "metadata": dict(hit.metadata),
        "score": hit.score,
        "relation": hit.relation,
        "share_of_query": _share(hit.query_coverage),
        "share_of_document": _share(hit.document_coverage),
        "matches": [_pair_object(pair) for pair in hit.pairs],
        "duplicates": [each.id for each in hit.duplicates],
    }


def _alignment_object(alignment: Alignment, k: int, kinds: Sequence[Kind]) -> Values:
    chosen = [pair for pair in alignment.pairs if pair.kind in kinds]
    shown = most_telling(chosen, k)
    missing = [alignment.query.text[slice(*span)] for span in alignment.query_unmatched]
    return {
        "id": alignment.document.id,
        "title": alignment.document.title,
        "metadata": dict(alignment.document.metadata),
        "relation": alignment.relation,
        "share_of_query": _share(alignment.query_coverage),
        "share_of_document": _share(alignment.document_coverage),
        "matches": [_pair_object(pair) for pair in shown],
        "matches_in_total": len(chosen),
        "without_match": missing[:MOST],
        "without_match_in_total": len(missing),
    }


def _pair_object(pair: Pair) -> Values:
    omitted = ("changes", "query_words", "document_words")
    values = {name: value for name, value in asdict(pair).items() if name not in omitted}
    return {**values, "similarity": round(pair.similarity, 4)}


def _share(coverage: Coverage | None) -> float | None:
    return None if coverage is None else round(coverage.share, 4)
