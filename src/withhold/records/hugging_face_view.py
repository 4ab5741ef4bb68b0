"""Records as a Hugging Face dataset."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from withhold.core.errors import UserError

if TYPE_CHECKING:
    from withhold.records.dataset import Dataset


def as_hugging_face(data: Dataset) -> Any:
    """A `datasets.Dataset` with the columns that the file would have, in memory."""
    if data.media is not None:
        raise UserError(
            f"{data.name} holds {data.kind}s, which leave as files: released.write(folder), then"
            f" datasets.load_dataset('{_LOADERS.get(data.kind, 'parquet')}', data_dir=folder)"
        )
    try:
        datasets: Any = import_module("datasets")
    except ImportError as error:
        raise UserError(
            "to_hugging_face needs the package datasets; install it: pip install datasets"
        ) from error
    table = pa.Table.from_batches(data.batches(), data.layout.release_schema(data.schema))
    return datasets.Dataset(table.replace_schema_metadata(None))


_LOADERS = {"image": "imagefolder", "sound": "audiofolder", "clip": "videofolder", "text": "text"}
