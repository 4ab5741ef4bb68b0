"""Mixed tables: what each column holds, its features, and rows of the same schema."""

from withhold.records.tabular.column_kinds import describe_columns, is_free_text
from withhold.records.tabular.encoder import TableEncoder
from withhold.records.tabular.row_maker import RowMaker
from withhold.records.tabular.table_column import TableColumn, TableColumns

__all__ = [
    "RowMaker",
    "TableColumn",
    "TableColumns",
    "TableEncoder",
    "describe_columns",
    "is_free_text",
]
