"""Counters for Prometheus, in a registry of their own: two services in one process, as in the tests, stay apart."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest

from foro.serve.work.service import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the latency histogram, in seconds."""


class Metrics:
    """What the service did so far, and what it has to do."""

    def __init__(self, service: Service) -> None:
        self._registry = registry = _Registry()
        self._requests = Counter(
            "foro_requests", "Requests by route and status.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "foro_request_seconds", "Time to answer a request.", ["method", "route"], buckets=BUCKETS, registry=registry
        )
        self.learned = Counter("foro_images_learned", "Images that were learned.", registry=registry)
        self.predicted = Counter("foro_images_predicted", "Images that were predicted.", registry=registry)
        for name, help, read in (
            ("foro_waiting_images", "Images in work.", lambda: service.admission.images),
            ("foro_waiting_changes", "Changes that wait for their turn.", lambda: service.teacher.depth),
            ("foro_classes", "Labels that are known.", lambda: len(service.published.labels)),
            ("foro_samples", "Samples of the model.", lambda: service.published.samples),
        ):
            Gauge(name, help, registry=registry).set_function(read)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Registry(CollectorRegistry):
    """Without the times at which counters were created, which would double the number of series."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
