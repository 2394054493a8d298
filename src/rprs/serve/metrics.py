"""Numbers for Prometheus: requests, how long they took, who waits, how large the process is."""

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

from rprs.serve.jobs import Gate
from rprs.serve.service import Service

__all__ = ["Metrics"]

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """The numbers of one server. Routes are counted by their templates: an id never becomes a label."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, gate: Gate, service: Service) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels = ("method", "route", "status")
        self._requests = Counter("rprs_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "rprs_request_seconds",
            "Seconds until an answer.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        for name, help, value in (
            ("rprs_jobs_working", "Jobs at work.", lambda: gate.working),
            ("rprs_jobs_waiting", "Jobs that wait their turn.", lambda: gate.queued),
            ("rprs_jobs_refused_total", "Jobs refused because too many waited.", lambda: gate.refused),
            ("rprs_jobs_stopped_total", "Jobs cancelled, or stopped at the time limit.", lambda: gate.stopped),
            ("rprs_documents", "Documents of the index.", lambda: service.documents),
        ):
            Gauge(name, help, registry=self.registry).set_function(value)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)
