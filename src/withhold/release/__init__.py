"""Releases: which columns leave, in which order, and what is written beside them."""

from withhold.release.modify import check_shape
from withhold.release.policy import ColumnDecision, Decision, Subject, decide
from withhold.release.release_files import codes_path
from withhold.release.released_dataset import ReleasedDataset, release_dataset
from withhold.release.wishes import Wishes
from withhold.release.written import Written

__all__ = [
    "ColumnDecision",
    "Decision",
    "ReleasedDataset",
    "Subject",
    "Wishes",
    "Written",
    "check_shape",
    "codes_path",
    "decide",
    "release_dataset",
]
