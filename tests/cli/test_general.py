"""Behaviour of all verbs: help, version, general options, one-line errors, messages and progress bars."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
from rich.console import Console
from typer.main import get_command

import rprs as package
from rprs import progress
from rprs.cli import app
from rprs.cli.messages import Messages, counted
from rprs.cli.reference import reference, verbs
from tests.support.cli import ENCODER, collection, rprs, rprs_error, rprs_ok, sample_index
from tests.support.paths import ROOT

VERBS = """index add sync remove compact verify repair backup refit upgrade info list find show systems search explain
    sentences align coverage passages serve mcp matrix run rerank convert evaluate compare tune study pull""".split()
ADAPT = ["adapt tsdae", "adapt sdr", "adapt mtft"]
MATTER = ["matter new", "matter add", "matter mark", "matter show", "matter run", "matter export"]
CLUSTER = "build add remove verify sweep status start stop node search explain coverage passages run".split()
NESTED = [*ADAPT, *MATTER, *(f"cluster {verb}" for verb in CLUSTER)]


def test_the_verbs_and_their_order() -> None:
    assert [name for name, _ in verbs(get_command(app))] == [*VERBS, *NESTED]


@pytest.mark.parametrize("verb", [*VERBS, *NESTED])
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    outcome = rprs_ok(*verb.split(), "--help")
    assert f"Example: rprs {verb} " in outcome.out
    assert outcome.err == ""


def test_without_a_verb_the_help_is_printed() -> None:
    assert rprs_ok().out == rprs_ok("--help").out
    assert all(verb in rprs_ok().out for verb in [*VERBS, "adapt"])


def test_the_defaults_in_the_help_are_those_of_the_library() -> None:
    text = " ".join(rprs_ok("search", "--help").out.replace("│", " ").split())
    for default in (
        "[default: (default)]",
        "[default: blend]",
        "[default: (fuse(first, rprs(k1=0.0, form=no_qp), method=zscore, weight=none))]",
        "[default: 100]",
        "[default: 10]",
        "[default: table]",
    ):
        assert default in text


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / "docs/cli.md").read_text() == reference(), "run python -m rprs.cli.reference > docs/cli.md"


@pytest.mark.parametrize("verb", [*VERBS, *NESTED])
def test_every_verb_is_in_the_reference_with_an_example(verb: str) -> None:
    sections = (ROOT / "docs/cli.md").read_text().split("\n## ")
    (section,) = [section for section in sections if section.startswith(f"rprs {verb}\n")]
    assert section.partition("```sh\n")[2].startswith((f"rprs {verb} ", f"rprs {verb}\n"))


def test_version() -> None:
    assert rprs_ok("--version").out == f"rprs {package.__version__}\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["search", "--help"], ["adapt", "mtft", "--help"]])
def test_help_and_version_load_nothing_heavy(words: list[str]) -> None:
    code = f"""
import sys
from rprs.cli import app
try:
    app({words})
except SystemExit:
    print(sorted({{"numpy", "numba", "onnxruntime", "scipy", "tokenizers", "nupunkt", "sqlite3"}} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [["search", "--help"], ["--quiet", "search", "--help"]])
def test_the_program_imports_the_verb_that_it_runs_and_no_other(words: list[str]) -> None:
    code = f"""
import sys
from rprs.cli import main
sys.argv[1:] = {words}
try:
    main()
except SystemExit:
    print(sorted({{"rprs.cli.searching", "rprs.cli.indexing", "rprs.cli.studying"}} & set(sys.modules)))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "['rprs.cli.searching']"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serch"], "No such command 'serch'"),
        (["search"], "Missing argument 'INDEX'"),
        (["search", "x.rprs", "q.txt", "-k", "0"], "Invalid value for '-k'"),
        (["search", "x.rprs", "q.txt", "--format", "xml"], "'xml' is not one of"),
        (["search", "x.rprs", "q.txt", "--dept", "5"], "No such option: --dept"),
        (["index", "cases"], "Missing option '--to'"),
        (["--nonsense"], "No such option: --nonsense"),
    ],
)
def test_a_wrong_command_line_is_one_line_that_points_to_the_help(words: list[str], message: str) -> None:
    line = rprs_error(*words)
    assert message in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    "words", [["verify"], ["info"], ["compact"], ["refit"], ["search", "--id", "x"], ["remove", "--where", "id = x"]]
)
def test_a_missing_index_is_one_line(words: list[str], tmp_path: Path) -> None:
    verb, *rest = words
    assert f"There is no index at {tmp_path / 'none.rprs'}" in rprs_error(verb, tmp_path / "none.rprs", *rest)


def test_debug_shows_the_traceback_before_or_after_the_verb(tmp_path: Path) -> None:
    for words in (["--debug", "info", tmp_path / "x"], ["info", tmp_path / "x", "--debug"]):
        with pytest.raises(package.InvalidIndex, match="There is no index"):
            rprs(*words)


def test_an_error_of_the_operating_system_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "catalog.sqlite")

    monkeypatch.setattr("rprs.index.info.index_info", refuse)
    assert rprs_error("info", tmp_path) == "catalog.sqlite: Permission denied"


def test_the_program_exits_with_the_code_and_the_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rprs", "info", str(tmp_path / "none.rprs")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("rprs: There is no index at")
    assert len(ended.stderr.splitlines()) == 1


# ---------------------------------------------------------------------------- messages and progress bars


def test_quiet_does_not_change_the_data(tmp_path: Path) -> None:
    path = sample_index(tmp_path)
    loud, quiet = (rprs_ok("search", path, tmp_path / "query.txt", *more) for more in ([], ["--quiet"]))
    assert loud.out == quiet.out != ""
    assert loud.err != "" == quiet.err


def test_quiet_indexing_prints_nothing(tmp_path: Path) -> None:
    outcome = rprs_ok("index", collection(tmp_path), "--to", tmp_path / "x.rprs", "--encoder", ENCODER, "--quiet")
    assert (outcome.out, outcome.err) == ("", "")


def bars_after(seconds: float, patience: float, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(progress, "PATIENCE", patience)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    bars = progress.ProgressBars(console)
    with bars("encoding", 50_000, "sentences") as advance:
        advance(12_000)
        sleep(seconds)
        console.print("a message")
    with bars("compacting") as advance:  # a second task after the bars of the first were removed
        advance(1)
    return screen.getvalue()


def test_a_long_task_has_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = bars_after(0.4, 0.05, monkeypatch)
    assert "encoding" in screen
    assert "12,000/50,000 sentences" in screen
    assert "a message" in screen


def test_a_short_task_has_no_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bars_after(0.0, 5.0, monkeypatch) == "a message\n"


def test_amounts() -> None:
    assert progress._amount(12, None, "documents") == "12 documents"
    assert progress._amount(3_100_000, 91_600_000, "bytes") == "3.1/91.6 MB"
    assert progress._amount(1, 2, "") == "1/2"


def test_there_are_no_bars_if_standard_error_is_not_a_terminal() -> None:
    assert Messages().progress is progress.silent


def test_numbers_have_their_nouns() -> None:
    assert [counted(1, "document"), counted(2310, "document")] == ["1 document", "2,310 documents"]
    assert counted(0, "query", "queries") == "0 queries"


def test_pull_reports_a_missing_folder_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_MODELS", str(tmp_path / "nowhere"))
    assert "which is not a folder" in rprs_error("pull")


def test_pull_prints_the_folder_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[Path | None] = []

    def pull(to: Path | None, progress: object) -> Path:
        targets.append(to)
        return tmp_path / "all-MiniLM-L6-v2"

    monkeypatch.setattr("rprs.encode.models.pull", pull)
    assert rprs_ok("pull", "--to", tmp_path).out == f"{tmp_path / 'all-MiniLM-L6-v2'}\n"
    assert targets == [tmp_path]
