"""Evidence for people: a table in the terminal, a page that opens from disk."""

from withhold.report.page import render, write_report
from withhold.report.table import print_table

__all__ = ["print_table", "render", "write_report"]
