"""What a node refuses before Ray starts, and where Ray and pickled objects can be met at all."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rprs
from rprs.cluster import node
from rprs.cluster.connection import require_token
from rprs.cluster.settings import environment, private_address
from rprs.errors import UsageError

SOURCE = Path(rprs.__file__).parent
TOKEN = "0123456789abcdef" * 4


def imported(module: Path) -> set[str]:
    """The packages that a module imports, anywhere in it."""
    names: list[str] = []
    for each in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(each, ast.Import):
            names += [alias.name for alias in each.names]
        elif isinstance(each, ast.ImportFrom):
            names.append(each.module or "")
    return {name.split(".")[0] for name in names}


def test_one_module_imports_ray_and_none_of_a_cluster_reads_pickled_objects() -> None:
    modules = {str(path.relative_to(SOURCE)): imported(path) for path in SOURCE.rglob("*.py")}
    assert [path for path, names in modules.items() if "ray" in names] == ["cluster/engine.py"]
    risky = {"pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib"}
    assert not [path for path, names in modules.items() if path.startswith("cluster/") and names & risky]


@pytest.mark.parametrize("address", ["10.0.0.1", "172.16.5.4", "192.168.1.1", "127.0.0.1", "fd00::1", "::1"])
def test_private_addresses_are_accepted(address: str) -> None:
    assert private_address(address) == address


RESERVED = ["240.0.0.1", "255.255.255.255", "192.0.2.1", "169.254.0.1", "100.64.0.1", "::ffff:8.8.8.8"]
PUBLIC = ["8.8.8.8", "0.0.0.0", "::", "2606:4700::1111", "224.0.0.1", "172.32.0.1", "head"]


@pytest.mark.parametrize("address", [*PUBLIC, *RESERVED])
def test_other_addresses_are_refused_with_their_value(address: str) -> None:
    with pytest.raises(UsageError, match=address):
        private_address(address)


def test_a_machine_with_a_public_address_needs_a_firewall(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node, "public_addresses", lambda: ["203.0.113.7"])
    for name, value in environment("10.0.0.1").items():  # which `run_node` sets
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=r"203\.0\.113\.7.*--firewalled"):
        node.run_node("10.0.0.1", None, 6379, None, None, False)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="The token of the cluster cannot be read"):  # the next check
        node.run_node("10.0.0.1", None, 6379, None, None, True)
    with pytest.raises(UsageError, match=r"8\.8\.8\.8"):
        node.run_node("10.0.0.1", "8.8.8.8:6379", 6379, None, None, True)


def test_nothing_starts_without_a_token_that_only_its_owner_can_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert environment("10.0.0.1")["RAY_AUTH_MODE"] == "token"
    file = tmp_path / "token"
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(UsageError, match="Token authentication is off"):
        require_token()
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(UsageError, match="cannot be read"):
        require_token()
    file.touch(0o600)
    with pytest.raises(UsageError, match="is empty"):
        require_token()
    file.write_text(TOKEN)
    require_token()
    file.chmod(0o640)
    with pytest.raises(UsageError, match="Others can read the token") as caught:
        require_token()
    assert TOKEN not in str(caught.value)
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    require_token()
