"""Evidence for people: a table in the terminal, a page that opens from disk."""

from withhold.report.page import write_report
from withhold.report.table import print_table

__all__ = ["print_table", "write_report"]
