"""Prometheus metrics: requests and their durations, jobs, and the size of the process."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from rprs.serve.collections import Collections
from rprs.serve.jobs import Limiter
from rprs.serve.workers import Workers

__all__ = ["Metrics"]

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The metrics of one server. Requests are counted by route template, so that no id becomes a label."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, limiter: Limiter, service: Collections, workers: Workers | None = None) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "route", "status")
        self._requests = Counter("rprs_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "rprs_request_seconds",
            "Seconds until the response was complete.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        for name, help, value in (
            ("rprs_jobs_working", "Jobs running.", lambda: limiter.working),
            ("rprs_jobs_waiting", "Jobs waiting.", lambda: limiter.queued),
            ("rprs_jobs_refused_total", "Jobs refused because the queue was full.", lambda: limiter.refused),
            ("rprs_jobs_stopped_total", "Jobs cancelled, or stopped at the time limit.", lambda: limiter.stopped),
            ("rprs_workers", "Processes ready to search beside the server.", lambda: workers.ready if workers else 0),
            ("rprs_documents", "Documents in the index.", lambda: service.documents),
        ):
            Gauge(name, help, registry=self.registry).set_function(value)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
