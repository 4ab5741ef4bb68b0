"""The settings of a server: where it keeps its files, and its limits."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE = 2**20


class ServerSettings(BaseModel):
    """Folder, address and limits. Times are in seconds, sizes in bytes unless the name says so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path = Field(description="private folder for uploads, jobs, bundles and the database")
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8765, ge=0, le=65535, description="port to listen on; 0: any free one")
    hosts: tuple[str, ...] = Field((), description="further names in the Host header to accept")
    workers: int = Field(1, ge=1, le=64, description="jobs that run at the same time")
    most_queued: int = Field(32, ge=1, le=10_000, description="jobs that may wait")
    most_requests: int = Field(64, ge=1, le=10_000, description="requests at the same time")
    job_seconds: float = Field(6 * 3600, gt=0, description="time limit of a job")
    answer_seconds: float = Field(
        60, gt=0, description="longest wait for an answer that needs work"
    )
    idle_seconds: float = Field(30, gt=0, description="longest pause in the body of a request")
    header_seconds: float = Field(10, gt=0, description="longest wait for the head of a request")
    upload_mebibytes: int = Field(1024, ge=1, description="size limit of one upload")
    stored_mebibytes: int = Field(10_240, ge=1, description="size limit of all uploads together")
    keep_hours: float = Field(24, gt=0, description="age at which uploads are removed")
    session_hours: float = Field(12, gt=0, description="how long a login of the page lasts")
    attempts: int = Field(5, ge=1, le=100, description="starts of a job whose worker vanished")

    @property
    def upload_bytes(self) -> int:
        """The size limit of one upload."""
        return self.upload_mebibytes * MEBIBYTE

    @property
    def stored_bytes(self) -> int:
        """The size limit of all uploads together."""
        return self.stored_mebibytes * MEBIBYTE

    @property
    def host_names(self) -> frozenset[str]:
        """Names that the Host header may have; others are refused against DNS rebinding."""
        wild = ("0.0.0.0", "::")
        own = () if self.host in wild else (self.host.lower(),)
        given = (name.lower() for name in self.hosts)
        return frozenset(("127.0.0.1", "localhost", "::1", *own, *given))
