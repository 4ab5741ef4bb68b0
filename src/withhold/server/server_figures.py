"""Figures of the server as Prometheus text. No label has a value that comes from data."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from withhold.server.dataset_store import DatasetStore
from withhold.server.job_store import JobStore

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_STATM = Path("/proc/self/statm")
_PAGE = 4096


class Metrics:
    """Counts of requests since the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets = [0] * len(_BUCKETS)
        self._seconds, self._count = 0.0, 0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request by its route, not by its address."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._count += 1
            self._seconds += seconds
            for i, limit in enumerate(_BUCKETS):
                self._buckets[i] += seconds <= limit

    def text(self, jobs: JobStore, datasets: DatasetStore) -> str:
        """Everything, in the text format of Prometheus."""
        lines = ["# TYPE withhold_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"withhold_requests_total{{{labels}}} {count}")
            lines.append("# TYPE withhold_request_seconds histogram")
            for limit, count in zip(_BUCKETS, self._buckets, strict=True):
                lines.append(f'withhold_request_seconds_bucket{{le="{limit}"}} {count}')
            lines.append(f'withhold_request_seconds_bucket{{le="+Inf"}} {self._count}')
            lines.append(f"withhold_request_seconds_sum {self._seconds:.6f}")
            lines.append(f"withhold_request_seconds_count {self._count}")
        lines.append("# TYPE withhold_jobs gauge")
        for (kind, state), count in sorted(jobs.counts().items()):
            lines.append(f'withhold_jobs{{kind="{kind}",state="{state}"}} {count}')
        uploads = datasets.uploads()
        lines.append("# TYPE withhold_uploads gauge")
        lines.append(f"withhold_uploads {len(uploads)}")
        lines.append("# TYPE withhold_upload_bytes gauge")
        lines.append(f"withhold_upload_bytes {sum(one.bytes for one in uploads)}")
        if _STATM.exists():
            resident = int(_STATM.read_text().split()[1]) * _PAGE
            lines.append("# TYPE process_resident_memory_bytes gauge")
            lines.append(f"process_resident_memory_bytes {resident}")
        return "\n".join(lines) + "\n"
