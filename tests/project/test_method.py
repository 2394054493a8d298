"""The page on the method names functions and classes that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
PLACES = sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)(?::(\w+))?`", PAGE)))
FUNCTIONS = sorted(set(re.findall(r"`rprs((?:\.\w+)+)\.(\w+)[`(]", PAGE)))


def _names(path: str) -> set[str]:
    source = next(file for file in (ROOT / path, ROOT / "src" / "rprs" / path) if file.exists())
    definitions = ast.parse(source.read_text(encoding="utf-8")).body
    return {node.name for node in definitions if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_a_file_and_the_name_in_it_exist(path: str, name: str) -> None:
    names = _names(path)
    assert not name or name in names


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_a_dotted_name_exists(module: str, name: str) -> None:
    assert name in _names(f"{module.strip('.').replace('.', '/')}.py")


def test_the_page_names_files_and_functions() -> None:
    assert len(PLACES) > 15
    assert len(FUNCTIONS) > 5
