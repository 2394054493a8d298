"""Compiled functions: Numba's machine code, kept in one folder of the user and loaded without the compiler.

Numba stores machine code beside the source, by the time and place of the file: a new installation compiles everything
again, which takes a minute, and a change of a function that another file calls goes unnoticed. Before it loads
anything, it also imports the whole compiler and SciPy. Here, a function is stored under a hash of everything that its
machine code depends on: bytecode, constants, the compiled functions that it calls, types of arguments, processor,
Python, NumPy and Numba. Installations and checkouts share what is the same, and an edit compiles what it changes.

A stored function is a pickle, so the folder must belong to the user alone. Files are complete or ignored, several
processes may write at once, and what was not used for three months is deleted. Where nothing can be stored, functions
are compiled in every process, and a warning says so.

A first search waits for its functions, so it counts how long they take to compile. NumPy's sorting and searching, and
assigning arrays to parts of others (the errors format text), take Numba longer than loops do (`scoring.sorting`).
A function is optimised alone and again within each of its callers: a large one that is called in a single place is
`inline="always"`, so that it is optimised there only.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, overload

import numba
import numpy as np

from rprs.cautions import SlowStart
from rprs.files.atomic import write_atomically

__all__ = ["compiled", "compiled_callback", "mark"]

_FORMAT = b"rprs 3"
_DAY = 24 * 3600
_KEPT = 90 * _DAY  # since a function was last used
_NEEDS_COMPILER = b"_numba_hashsecret"  # a symbol that exists only once the compiler has been imported


@overload
def compiled(function: Callable[..., Any], **options: Any) -> Any: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...
def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator: compile a function when it is first called, without the GIL, and keep the machine code.

    Options are those of `numba.njit`. The key does not cover implementations given by `numba.extending.overload`:
    functions that call such ones use `numba.njit(cache=True)`.
    """
    if function is None:
        return lambda each: compiled(each, **options)
    dispatcher = numba.njit(nogil=True, **options)(function)
    if not hasattr(dispatcher, "_cache"):  # compilation is turned off (NUMBA_DISABLE_JIT)
        return dispatcher
    dispatcher._cache = _Stored(function, dispatcher.targetoptions)
    return dispatcher


def compiled_callback(function: Callable[..., Any], signature: str) -> Any:
    """A function of numbers and addresses for ctypes, whose calls cost less than those of a function of arrays."""
    from numba.core import ccallback, sigutils

    callback: Any = ccallback.CFunc(function, _untyped(sigutils).normalize_signature(signature), locals={}, options={})
    callback._cache = _Stored(function, {"callback": True})
    callback.compile()
    return callback.ctypes


def mark(name: str) -> Path | None:
    """A file among the stored functions that says that all functions for a purpose are; None if nothing is stored.

    There is one for each version of Python, Numba and so on, and it is deleted like a function.
    """
    from llvmlite import binding

    folder = _folder()
    if folder is None:
        return None
    key = sha256(" ".join((*_versions(), _untyped(binding).get_host_cpu_name())).encode())
    return folder / f"{name}-{key.hexdigest()[:40]}"


def _untyped(module: ModuleType) -> Any:
    """A module of Numba without public types."""
    return module


class _Stored:
    """The machine code of a function on disk: what Numba asks of its cache."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    @property
    def cache_path(self) -> str:
        """The folder, for the statistics of Numba."""
        return str(_folder() or "")

    def load_overload(self, types: Any, target: Any) -> Any:
        """The machine code for these types of arguments, or None if it has to be compiled."""
        path = self._path(types, target.codegen())
        content = _read(path) if path else None
        if content is None:
            return None
        from numba.core import runtime

        try:
            if _NEEDS_COMPILER in content:
                target.refresh()
            else:
                _untyped(runtime).rtsys.initialize(target)
            return _loaded(target, *pickle.loads(content))
        except Exception:  # whatever a file of another build may raise: the function is compiled again
            return None

    def save_overload(self, types: Any, result: Any) -> None:
        """Store machine code, unless it contains addresses of this process."""
        from numba.core import serialize

        path = self._path(types, result.codegen)
        if path is None or result.lifted or result.library.has_dynamic_globals:
            return
        parts = _without_empty_environments(result._reduce())
        content = _untyped(serialize).dumps((_defined_symbols(result.library), *parts))
        with suppress(OSError):  # a full disk: compiled again next time
            write_atomically(path, sha256(content).digest() + content)
            _delete_unused(path.parent)

    def _path(self, types: Any, codegen: Any) -> Path | None:
        folder = _folder()
        if folder is None:
            return None
        key = sha256(_FORMAT)
        for part in (*_versions(), repr(codegen.magic_tuple()), str(types)):
            key.update(part.encode() + b"\0")
        key.update(_described_options(self.options))
        for each in _described(self.function, set()):
            key.update(each + b"\0")
        return folder / f"{self.function.__name__}-{key.hexdigest()[:40]}"


def _without_empty_environments(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leave out those of Numba's own functions that hold no constants: loading them would import the compiler."""
    *others, environments = parts
    kept = (each for each in environments if each.consts or not each.globals["__name__"].startswith("numba."))
    return (*others, tuple(kept))


def _defined_symbols(library: Any) -> frozenset[str]:
    """The names that the machine code of a function defines."""
    module = library._get_module_for_linking()
    both = (module.functions, module.global_variables)
    return frozenset(each.name for values in both for each in values if not each.is_declaration)


def _loaded(target: Any, symbols: frozenset[str], library: tuple[Any, ...], *others: Any) -> Any:
    """A stored function, of which Numba reads the machine code alone.

    It would also read its intermediate code, which takes longer than all the rest, for the names that it defines and
    for functions that are compiled later and call this one. The names are stored, and such a function reads it then.
    """
    from llvmlite import binding
    from numba.core import compiler

    name, kind, (machine_code, intermediate_code) = library
    target.codegen()._engine._defined_symbols.update(symbols)
    result = _untyped(compiler).CompileResult._rebuild(target, (name, kind, (machine_code, _no_code())), *others)
    result.library._get_module_for_linking = cache(lambda: _untyped(binding).parse_bitcode(intermediate_code))
    return result


@cache
def _no_code() -> bytes:
    from llvmlite import binding

    empty: bytes = _untyped(binding).parse_assembly("").as_bitcode()
    return empty


# ---------------------------------------------------------------------------- what machine code depends on


@cache
def _versions() -> tuple[str, ...]:
    from importlib.metadata import version

    config: Any = numba.config
    settings = (config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT, config.CPU_NAME, config.CPU_FEATURES)
    return (
        numba.__version__,
        version("llvmlite"),
        np.__version__,
        str(sys.implementation.cache_tag),
        " ".join(map(str, settings)),
    )


def _described(value: Any, seen: set[int]) -> Iterator[bytes]:
    """Everything that decides what a value becomes in machine code; functions and what they refer to, recursively."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.tobytes()
    elif hasattr(value, "py_func"):
        if id(value) not in seen:
            seen.add(id(value))
            yield _described_options(value.targetoptions)
            yield from _described(value.py_func, seen)
    elif isinstance(value, FunctionType):
        yield f"{value.__module__}.{value.__qualname__}".encode()
        if id(value) in seen or value.__module__.partition(".")[0] in ("numba", "numpy"):  # the key has their versions
            return
        seen.add(id(value))
        yield from _described(value.__defaults__, seen)
        yield from _described(tuple(cell.cell_contents for cell in value.__closure__ or ()), seen)
        yield from _described_code(value.__code__, value.__globals__, seen)
    elif hasattr(value, "_defn"):  # written in the language of the compiler (`numba.extending.intrinsic`)
        yield from _described(value._defn, seen)
    elif isinstance(value, tuple):
        yield f"{len(value)}".encode()
        for each in value:
            yield from _described(each, seen)
    elif isinstance(value, (type, BuiltinFunctionType, ModuleType, np.ufunc)):
        yield value.__name__.encode()
    elif isinstance(value, (int, float, complex, str, bytes, np.generic)) or value is None:
        yield f"{type(value).__name__} {value!r}".encode()
    else:
        yield type(value).__qualname__.encode()


def _described_options(options: dict[str, Any]) -> bytes:
    ordered = [(name, sorted(value) if isinstance(value, set) else value) for name, value in options.items()]
    return repr(sorted(ordered, key=lambda option: option[0])).encode()


def _described_code(code: CodeType, names: dict[str, Any], seen: set[int]) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _described_code(constant, names, seen)
        else:
            yield from _described(constant, seen)
    for name in code.co_names:
        if name in names:
            value = names[name]
            yield from _described(value, seen)
            if isinstance(value, ModuleType) and value.__name__.startswith("rprs"):
                for attribute in code.co_names:
                    yield from _described(getattr(value, attribute, None), seen)


# ---------------------------------------------------------------------------- files


@cache
def _folder() -> Path | None:
    """The user's own folder of compiled functions, made if necessary; None if there can be none."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    try:
        if chosen:
            folder = Path(chosen).expanduser() / "rprs"
        else:
            from platformdirs import user_cache_path

            folder = user_cache_path("rprs", appauthor=False) / "compiled"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _reason_against(folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home
        reason = str(error)
    if reason is None:
        return folder
    warnings.warn(
        f"Compiled functions are not stored, so that every process needs a minute to compile them: {reason}; "
        "name a folder of your own in NUMBA_CACHE_DIR",
        SlowStart,
        stacklevel=2,
    )
    return None


def _reason_against(folder: Path) -> str | None:
    if os.name == "posix":
        about = folder.stat()
        if about.st_uid != os.geteuid():
            return f"{folder} belongs to another user"
        if about.st_mode & 0o022:
            return f"other users may write to {folder}"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} is read-only"


def _read(path: Path) -> bytes | None:
    """The content of a file that is complete, marked as used."""
    try:
        data = path.read_bytes()
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)
    except OSError:
        return None
    digest, content = data[:32], data[32:]
    return content if sha256(content).digest() == digest else None


def _delete_unused(folder: Path) -> None:
    oldest = time.time() - _KEPT
    for entry in os.scandir(folder):
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                Path(entry.path).unlink()
