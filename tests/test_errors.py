"""The errors: the tree in the module docstring is the tree of the classes, and a message is one line."""

from __future__ import annotations

import re

from rprs import errors
from rprs.errors import MissingExtra, RprsError


def drawn_tree(picture: str) -> dict[str, str]:
    """Child → parent, read from a drawing where every level is indented by four columns more."""
    lines = [(match.start(1), match[1]) for line in picture.splitlines() if (match := re.search(r"(\w+) {2,}\w", line))]
    top = lines[0][0]
    path: list[str] = []
    parents: dict[str, str] = {}
    for column, name in lines:
        depth = (column - top) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else "Exception"
    return parents


def class_tree(root: type[Exception]) -> dict[str, str]:
    assert len(root.__bases__) == 1
    here = {root.__name__: root.__bases__[0].__name__}
    return here | {name: parent for child in root.__subclasses__() for name, parent in class_tree(child).items()}


def test_the_drawing_is_the_class_tree() -> None:
    own = {name: parent for name, parent in class_tree(RprsError).items() if hasattr(errors, name)}
    assert drawn_tree(errors.__doc__ or "") == own


def test_all_errors_are_public() -> None:
    assert set(errors.__all__) == set(drawn_tree(errors.__doc__ or ""))


def test_no_error_is_one_of_pythons_own() -> None:
    """`except IndexError` around a list must not swallow a damaged index."""
    assert not issubclass(errors.InvalidIndex, IndexError | ValueError | OSError)


def test_a_missing_extra_gives_the_command_to_install_it() -> None:
    error = MissingExtra("The encoder 'sbert'", "sentence-transformers", "torch")
    assert str(error) == (
        "The encoder 'sbert' needs sentence-transformers, which is not installed: pip install 'rprs[torch]' "
        "(in a clone: '.[torch]')"
    )
    assert isinstance(error, RprsError)
