"""`/api/v1/datasets`: upload, list, inspect and remove files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from withhold.server.api_models import DatasetAnswer, InspectionAnswer
from withhold.server.job_requests import Id, InspectJob, Names, ReadingOptions
from withhold.server.route_support import BINARY, answers, service_of
from withhold.server.service import in_thread

router = APIRouter(prefix="/api/v1/datasets", tags=["datasets"])
Format = Literal["csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "parquet", "xlsx", "npz", "arrow"]
FileName = Annotated[str, StringConstraints(max_length=1000)]


class NamedRoles(BaseModel):
    """Roles to check, and how to read the file."""

    model_config = ConfigDict(extra="forbid")

    suppress: Names = Field(default_factory=list)
    preserve: Names = Field(default_factory=list)
    reading: ReadingOptions = ReadingOptions()


@router.post(
    "",
    status_code=201,
    responses=answers(400, 401, 408, 413, 422, 429, 507),
    openapi_extra=BINARY,
)
async def upload(
    request: Request,
    format: Annotated[Format, Query(description="what the file is")],
    name: Annotated[FileName, Query(description="for people; never used as a path")] = "",
) -> DatasetAnswer:
    """Upload a file as the body of the request. It is written to disk as it arrives."""
    service = service_of(request)
    made = await service.datasets.receive(
        request.stream(),
        name=name,
        format=format,
        most=service.settings.upload_bytes,
        stored=service.settings.stored_bytes,
    )
    return DatasetAnswer.of(made)


@router.get("", responses=answers(400, 401, 429))
def datasets(request: Request) -> list[DatasetAnswer]:
    """All uploads, the newest first."""
    return [DatasetAnswer.of(one) for one in service_of(request).datasets.uploads()]


@router.get("/{id}", responses=answers(400, 401, 404, 422, 429))
def dataset(request: Request, id: Id) -> DatasetAnswer:
    """One upload."""
    return DatasetAnswer.of(service_of(request).upload(id))


@router.delete("/{id}", status_code=204, responses=answers(400, 401, 404, 409, 422, 429))
def remove(request: Request, id: Id) -> Response:
    """Remove an upload."""
    service_of(request).remove_upload(id)
    return Response(status_code=204)


@router.post("/{id}/inspect", responses=answers(400, 401, 404, 409, 413, 422, 429, 504))
async def inspect(request: Request, id: Id, roles: NamedRoles) -> InspectionAnswer:
    """What is in the file, and what is feasible for the roles. The same question is asked once."""
    service = service_of(request)
    asked = InspectJob(kind="inspect", dataset=id, **_fields(roles))
    job = await in_thread(service.once, asked)
    done = await service.finished(job.id)
    return InspectionAnswer.model_validate(done.result)


def _fields(roles: NamedRoles) -> dict[str, Any]:
    return {name: getattr(roles, name) for name in type(roles).model_fields}
