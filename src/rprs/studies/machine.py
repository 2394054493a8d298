"""The machine and the software that made a run, without anything that identifies a person or a computer."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import rprs

__all__ = ["platform_facts", "source_facts"]

# The instruction sets on which the int8 arithmetic of a transformer, and so its vectors, may depend.
_INT8 = ("avx2", "avx512_vnni", "avx512vnni", "avx_vnni", "amx_int8", "i8mm", "asimddp")


@cache
def platform_facts() -> dict[str, Any]:
    """Processor, memory, operating system and the versions of libraries, as ir_metadata names them."""
    return {
        "hardware": {
            "cpu": {
                **_processor(Path("/proc/cpuinfo")),
                "architecture": platform.machine(),
                "operation mode": platform.architecture()[0].replace("bit", "-bit"),
                "number of cores": os.cpu_count() or 1,
            },
            **_memory(),
        },
        "operating system": {
            "kernel": f"{platform.system()} {platform.release()}",
            "distribution": _distribution(),
        },
        "software": {
            "libraries": {"python": [f"python=={platform.python_version()}", *_libraries()]},
            "retrieval toolkit": [f"rprs=={rprs.__version__}"],
        },
    }


@cache
def source_facts() -> dict[str, Any]:
    """The programming language and, in a clone of the repository, the commit; `-dirty` marks uncommitted changes."""
    commit = _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    tracked = _git("ls-files", "__init__.py")
    return {"lang": ["Python"], **({"commit": commit} if commit and tracked else {})}


def _git(*words: str) -> str:
    try:
        command = ["git", "-C", str(Path(rprs.__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _processor(path: Path) -> dict[str, Any]:
    """The model of the processor, and its instructions for int8."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    entries = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    model = entries.get("model name") or platform.processor() or "unknown"
    flags = set((entries.get("flags") or entries.get("Features") or "").split())
    return {"model": model, "int8 instructions": [name for name in _INT8 if name in flags]}


def _memory() -> dict[str, str]:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return {}
    return {"ram": f"{size / 2**30:.0f} GB"}


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.version()


def _libraries() -> list[str]:
    """The installed versions of the packages that rprs depends on, without extras."""
    try:
        needed = requires("rprs") or []
    except PackageNotFoundError:
        return []
    names = [match[0] for text in needed if "extra ==" not in text and (match := re.match(r"[\w.-]+", text))]
    installed = []
    for name in sorted(names, key=str.lower):
        try:
            installed.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return installed
