"""The package as users install it: quick to import, complete as a wheel, with consistent public names."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import rprs
from rprs.errors import MissingExtra
from tests.support.paths import ROOT

HEAVY = ["numpy", "onnxruntime", "numba", "torch", "scipy", "tokenizers", "nupunkt", "pypdfium2", "lxml", "openpyxl"]


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a command; a failure shows all of it."""
    bare = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    process = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=bare, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.returncode == 0, f"{command}: {process.stdout}"
    return process.stdout.strip()


# ---------------------------------------------------------------------------- import rprs


def seconds_to_import() -> float:
    """Processor time inside a fresh interpreter, without its own start: other work on the machine does not count."""
    names = "rprs.tune, rprs.evaluate, rprs.compare, rprs.study, rprs.rerank"
    code = f"from time import process_time as t; start = t(); import rprs; {names}; print(t() - start)"
    return float(run(sys.executable, "-c", code))


def test_the_package_and_its_functions_are_imported_in_under_three_tenths_of_a_second() -> None:
    assert min(seconds_to_import() for _ in range(5)) < 0.3


def test_import_loads_nothing_heavy() -> None:
    names = "rprs.tune, rprs.evaluate, rprs.compare, rprs.study, rprs.rerank"
    code = f"import sys, rprs; {names}; print(sorted(set({HEAVY}) & set(sys.modules)))"
    assert run(sys.executable, "-c", code) == "[]"


# ---------------------------------------------------------------------------- public names


def public_modules() -> list[str]:
    modules = pkgutil.walk_packages(rprs.__path__, "rprs.")
    return sorted(module.name for module in modules if not any(part.startswith("_") for part in module.name.split(".")))


def load(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except MissingExtra as missing:
        pytest.skip(str(missing))


def constants_then_classes_then_functions(name: str) -> tuple[bool, bool, str]:
    """The order that ruff keeps (RUF022)."""
    return not name.isupper(), not name[0].isupper(), name


@pytest.mark.parametrize("name", ["rprs", *public_modules()])
def test_all_is_sorted_and_every_name_in_it_exists(name: str) -> None:
    module = load(name)
    listed: list[str] = getattr(module, "__all__", [])
    assert listed == sorted(set(listed), key=constants_then_classes_then_functions)
    assert [entry for entry in listed if not hasattr(module, entry)] == []


# The functions of rprs.cli are the verbs of the command line, not a library.
@pytest.mark.parametrize("name", [name for name in public_modules() if not name.startswith("rprs.cli")])
def test_all_lists_every_public_class_and_function_of_a_module(name: str) -> None:
    module = load(name)
    public = {
        entry
        for entry, value in vars(module).items()
        if not entry.startswith("_") and callable(value) and getattr(value, "__module__", None) == name
    }
    assert public - set(getattr(module, "__all__", ())) == set()


@pytest.mark.parametrize("name", ["rprs", *public_modules()])
def test_every_module_has_a_docstring(name: str) -> None:
    assert load(name).__doc__


# ---------------------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_has_types_and_licence_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        licence = archive.read(f"rprs-{rprs.__version__}.dist-info/licenses/LICENSE").decode()
    assert "rprs/py.typed" in names
    assert "Apache License" in licence.splitlines()[1]
    assert {name.split("/")[0] for name in names} == {"rprs", f"rprs-{rprs.__version__}.dist-info"}
    parts = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/rprs").rglob("*.*")}
    assert {part for part in parts if "__pycache__" not in part} <= names
    assert {"rprs/serve/web/index.html", "rprs/serve/web/main.js", "rprs/serve/web/style.css"} <= names


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_works_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """With its dependencies from the package index, as `pip install rprs` installs it."""
    venv.create(tmp_path / "clean", with_pip=True, symlinks=True)
    tools = tmp_path / "clean/bin"
    run(tools / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", wheel)
    assert rprs.__version__ in run(tools / "rprs", "--version", cwd=tmp_path)
    code = "import rprs; print(rprs.__file__)"
    assert Path(run(tools / "python", "-c", code, cwd=tmp_path)).is_relative_to(tmp_path / "clean")


def test_the_citation_file_names_this_version_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == rprs.__version__
    assert citation["authors"] == [{"name": "The rprs contributors"}]
    assert citation["references"][0]["authors"][0]["family-names"] == "Askari"
    assert citation["references"][0]["doi"] == "10.1145/3631938"


@pytest.mark.parametrize(("file", "extra"), [("demo", None), ("dev", "dev")])
def test_the_lock_files_have_all_dependencies_with_hashes(file: str, extra: str | None) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = map(Requirement, project["dependencies"] + (project["optional-dependencies"][extra] if extra else []))
    entries = (ROOT / "requirements" / f"{file}.txt").read_text().replace("\\\n", " ").splitlines()
    locked = [line for line in entries if line and not line.startswith("#")]
    assert all("--hash=sha256:" in line for line in locked)
    assert not any("://" in line for line in locked)  # the index is a matter of the machine
    versions: dict[str, list[str]] = {}
    for line in locked:
        requirement = Requirement(line.split(" --hash", 1)[0].strip())
        versions.setdefault(canonicalize_name(requirement.name), []).append(
            str(requirement.specifier).removeprefix("==")
        )
    for requirement in needed:
        found = versions.get(canonicalize_name(requirement.name), [])
        assert any(requirement.specifier.contains(version) for version in found), f"{requirement}: run `make lock`"


def test_what_installs_and_builds_has_hashes_too() -> None:
    locked = (ROOT / "requirements/tools.txt").read_text()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    for requirement in map(Requirement, ("uv", *build)):
        (version,) = re.findall(rf"^{requirement.name}==(\S+) \\\n    --hash=sha256:", locked, re.MULTILINE)
        assert requirement.specifier.contains(version)
    assert "--require-hashes -r requirements/tools.txt" in (ROOT / "Makefile").read_text()


def test_actions_of_continuous_integration_are_pinned_by_hash() -> None:
    used = re.findall(r"uses:\s*(\S+)", "".join(file.read_text() for file in (ROOT / ".github").rglob("*.yml")))
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)] == []
