"""Matters: searches with their marks, notes and settings in one local file, `.rprs-matter`."""

from rprs.matters.export import MATTER_FORMATS, MatterFormat, matter_format_of
from rprs.matters.file import SUFFIX, matter_from, matter_object, new_matter, read_matter, save_matter
from rprs.matters.report import Entry, MatterReport, Section, report_search
from rprs.matters.run import changes, current_marks, new_search, query_of, run_search
from rprs.matters.values import Collection, Matter, Search, Settings

__all__ = [
    "MATTER_FORMATS",
    "SUFFIX",
    "Collection",
    "Entry",
    "Matter",
    "MatterFormat",
    "MatterReport",
    "Search",
    "Section",
    "Settings",
    "changes",
    "current_marks",
    "matter_format_of",
    "matter_from",
    "matter_object",
    "new_matter",
    "new_search",
    "query_of",
    "read_matter",
    "report_search",
    "run_search",
    "save_matter",
]
