"""The files for an office: an image, a compose file and a systemd unit. Tools that are missing skip their test."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from rprs.cli import app
from rprs.cluster.settings import private_address
from tests.support.paths import ROOT

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def tool(name: str) -> str:
    """The path of a program, of this environment or of the system; without it the test is skipped."""
    found = shutil.which(str(Path(sys.executable).with_name(name))) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def unit(name: str = "rprs.service") -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)  # a key may be repeated
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their capitals
    parser.read(DEPLOY / name, encoding="utf-8")
    return parser


def commands() -> dict[str, list[str]]:
    """The command line of each file, without the program."""
    (command,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    return {
        "Dockerfile": json.loads(command),
        "compose.yaml": COMPOSE["services"]["rprs"]["command"],
        "rprs.service": shlex.split(unit()["Service"]["ExecStart"])[1:],
    }


@pytest.mark.parametrize("name", ["rprs-cluster-head.service", "rprs-cluster-node.service"])
def test_units_of_a_cluster_are_valid_private_and_need_a_token(name: str) -> None:
    service = unit(name)["Service"]
    _, cluster, verb, *words = shlex.split(service["ExecStart"])
    node: Any = typer.main.get_command(app).commands[cluster].commands[verb]  # type: ignore[attr-defined]  # groups
    with node.make_context(verb, words) as context:
        assert private_address(context.params["ip"])
        assert (context.params["join"] is None) == ("head" in name)
        assert not context.params["firewalled"]
    assert service["IPAddressDeny"] == "any"
    text = (DEPLOY / name).read_text(encoding="utf-8")
    assert "RAY_AUTH_TOKEN_PATH=/etc/rprs/cluster-token" in text
    assert "AWS_SECRET_ACCESS_KEY=" not in text


@pytest.mark.parametrize("name", ["rprs-cluster-start.service", "rprs-cluster-serve.service"])
def test_units_that_use_a_cluster_are_valid_and_private(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    section = unit(name)["Service"]
    text = (DEPLOY / name).read_text(encoding="utf-8")
    values = dict(
        pair.split("=", 1) for line in re.findall("^Environment=(.+)$", text, re.MULTILINE) for pair in line.split()
    )
    monkeypatch.setenv("RAY_ADDRESS", values["RAY_ADDRESS"])
    command: Any = typer.main.get_command(app)
    words = shlex.split(section["ExecStart"])[1:]
    while not words[0].startswith(("-", "/")) and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    with command.make_context("verb", words) as context:
        assert private_address(context.params["address"].partition(":")[0])
    assert values["RAY_AUTH_TOKEN_PATH"] == "/etc/rprs/cluster-token"
    assert section["IPAddressDeny"] == "any"
    assert section["ReadWritePaths"] == shlex.split(unit("rprs-cluster-node.service")["Service"]["ExecStart"])[-1]
    assert "AWS_SECRET_ACCESS_KEY=" not in text


@pytest.mark.parametrize("name", ["head.service", "node.service", "serve.service", "start.service", "start.timer"])
def test_systemd_understands_the_units_of_a_cluster(name: str, tmp_path: Path) -> None:
    for path in DEPLOY.glob("rprs-cluster-*"):
        text = path.read_text(encoding="utf-8").replace("/opt/rprs/bin/rprs", sys.executable)
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    verified = subprocess.run(
        [tool("systemd-analyze"), "verify", tmp_path / f"rprs-cluster-{name}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "rprs.service"])
def test_commands_are_valid_and_need_a_token(name: str) -> None:
    verb, *words = commands()[name]
    assert verb == "serve"
    serve: Any = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]  # it is a group
    with serve.make_context("serve", words) as context:
        assert context.params["token_file"].is_absolute()
        assert not context.params["open_browser"]
        assert not context.params["allow_write"]


def test_the_dockerfile_passes_its_linter() -> None:
    outcome = subprocess.run(
        [tool("hadolint"), "--no-color", DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (outcome.returncode, outcome.stdout) == (0, "")


def test_the_image_copies_what_exists_and_what_is_not_ignored() -> None:
    allowed = {
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    copied = {name for line in lines for name in line.split()[:-1]}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_the_container_is_not_root_and_cannot_write_its_image() -> None:
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert f"--uid {user} " in DOCKERFILE
    service = COMPOSE["services"]["rprs"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert {volume.partition(":")[0] for volume in service["volumes"]} == {"./data", *COMPOSE["volumes"]}
    assert service["secrets"] == list(COMPOSE["secrets"])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_the_unit_is_valid_and_confined(tmp_path: Path) -> None:
    """As systemd itself sees it; the path of the program is that of this environment."""
    analyze = tool("systemd-analyze")
    program = Path(sys.executable).with_name("rprs")
    if not program.exists():
        pytest.skip("rprs is not installed as a program")
    text = (DEPLOY / "rprs.service").read_text(encoding="utf-8")
    copy = tmp_path / "rprs.service"
    copy.write_text(text.replace("/opt/rprs/bin/rprs", str(program)), encoding="utf-8")
    verified = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
    rated = subprocess.run(
        [analyze, "security", "--offline=true", "--no-pager", copy], capture_output=True, text=True, check=False
    )
    level = re.search(r"exposure level for \S+: ([\d.]+)", rated.stdout)
    if level is None:
        pytest.skip(f"systemd-analyze cannot rate a file here: {rated.stderr.strip()[:80]}")
    assert float(level.group(1)) <= 1.5


@pytest.mark.slow
def test_the_image_can_be_built() -> None:
    docker = tool("docker")
    if subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("no Docker daemon answers")
    command = [docker, "build", "--quiet", "--file", str(DEPLOY / "Dockerfile"), str(ROOT)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_a_wrong_unit_is_noticed(tmp_path: Path) -> None:
    """The check itself can fail."""
    wrong = tmp_path / "wrong.service"
    wrong.write_text("[Service]\nExecStart=/bin/true\nProtectSystem=sometimes\n", encoding="utf-8")
    outcome = subprocess.run([tool("systemd-analyze"), "verify", wrong], capture_output=True, text=True, check=False)
    assert "sometimes" in outcome.stderr
