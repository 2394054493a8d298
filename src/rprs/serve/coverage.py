"""The work behind the routes for coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rprs.charts.build import Charting, Named, named_documents, named_hits
from rprs.charts.formats import CHART_FORMATS
from rprs.charts.serialize import chart_object, head_object, source_object
from rprs.charts.values import Chart
from rprs.results.names import chart_name
from rprs.serve.coverage_models import CoverageExportRequest, CoverageRequest
from rprs.serve.handlers import File, Handlers, Search, as_json
from rprs.serve.jobs import Job
from rprs.serve.requests import Submission

__all__ = ["CoverageHandlers"]

Send = Callable[[str, bytes], None]


class CoverageHandlers:
    """One method for each route."""

    def __init__(self, handlers: Handlers) -> None:
        self.handlers = handlers

    def coverage(self, job: Job, submission: Submission[CoverageRequest]) -> bytes:
        """A chart as JSON; its parts are sent as soon as they are known, if the client asked for that."""
        request = submission.request
        with self.handlers.service.snapshot() as snapshot:
            search = self.handlers.opened(job, snapshot, submission)
            send = job.send if request.parts else None
            chart = self._chart(job, search, request, send)
            if send:
                chart = replace(chart, groups=(), rows=(), sources=())
            head = {"job": job.id, "about": search.about.object(), "query": search.query_object}
            return as_json({**head, "chart": chart_object(chart)})

    def export(self, job: Job, submission: Submission[CoverageExportRequest]) -> File:
        """A chart as a file, named for the document."""
        format = CHART_FORMATS[submission.request.format]
        with self.handlers.service.snapshot() as snapshot:
            search = self.handlers.opened(job, snapshot, submission)
            chart = self._chart(job, search, submission.request)
            return File(chart_name(search.query, format.suffix), format.media_type, format.write(chart, search.about))

    def _chart(self, job: Job, search: Search, request: CoverageRequest, send: Send | None = None) -> Chart:
        """The rows come first: they need no search, so that a reader sees the document at once."""
        index = search.searcher.index
        charting = Charting(search.query, index, job.progress, boilerplate=request.boilerplate)
        if send:
            send("chart", as_json(head_object(charting.empty)))
        named, notes = self._sources(search, request)
        sources = []
        for source, covers in charting.sources(named):
            sources.append((source, covers))
            if send:
                send("source", as_json(source_object(source, covers)))
        return charting.finish(sources, notes)

    @staticmethod
    def _sources(search: Search, request: CoverageRequest) -> tuple[list[Named], tuple[str, ...]]:
        if request.sources is not None:
            return named_documents(search.searcher.index, request.sources), ()
        bare = request.model_copy(update={"pairs": 0, "k": min(request.k + len(request.without), 1000)})
        results = replace(search, request=bare).results()
        left_out = set(request.without)
        hits = [hit for hit in results if hit.id not in left_out]
        return named_hits(hits[: request.k]), results.notes
