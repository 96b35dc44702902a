"""Kernels: functions that Numba compiles when they are first called, and the cache of their machine code.

    @kernel
    def step(...): ...                  # may be called from Python
    @kernel(inner=True)
    def act(...): ...                   # called by kernels only; compiled in less time, for want of a wrapper

Reading machine code executes it, so it is read only from a folder that nobody else can write to:
`program_guided/kernels` in $NUMBA_CACHE_DIR, in $XDG_CACHE_HOME or in ~/.cache, if that is owned by the user, writable
for nobody else and no symbolic link; else from a temporary folder of this process.

An entry is named by a hash of all that its code depends on: the function, the kernels that it calls, their constants
and options, the types of the arguments, versions and processor. It begins with a checksum; an entry that cannot be read
is compiled again. There is no index, so processes that compile at the same time do not disturb each other.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from program_guided.output import progress_bars

__all__ = ["kernel"]

OWN_FOLDERS = ("program_guided", "kernels")
OTHERS_MAY_WRITE = 0o022
MAX_UNUSED_DAYS = 90
"""Entries that were not read for so long are removed."""


def kernel(function: Any = None, *, inner: bool = False, **options: Any) -> Any:
    """Compile at first use; keep the machine code for the next start. `options` are those of `numba.njit`."""
    if function is None:
        return functools.partial(kernel, inner=inner, **options)
    compiler: Any = numba.njit
    dispatcher = compiler(no_cpython_wrapper=inner, no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = _Entries(dispatcher)
    if inner:
        _hide(dispatcher)
    return dispatcher


def _hide(dispatcher: Any) -> None:
    """A call from Python, for which there is no wrapper, is an error instead of a crash."""

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{dispatcher.__name__} is an inner kernel: only kernels can call it")

    dispatcher.add_overload = lambda result: dispatcher.overloads.update({tuple(result.signature.args): result})
    dispatcher._compile_for_args = refuse


class _Entries(NullCache):
    """The entries of one kernel, in the form that Numba's dispatcher asks for."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    def load_overload(self, types: Any, target: Any) -> Any:
        """The machine code for arguments of these types; None if there is none that can be read."""
        target.refresh()
        try:
            data = pickle.loads(_read(self._name(types, target.codegen())))
            return CompileResult._rebuild(target, *data)  # type: ignore[no-untyped-call]
        except Exception:  # missing or damaged, in one of many ways: it is compiled again
            return None

    def save_overload(self, types: Any, result: Any) -> None:
        """Write machine code; without room or folder, it is kept in memory only."""
        if not result.lifted and not result.library.has_dynamic_globals:
            with suppress(OSError):
                data = dumps(result._reduce())  # type: ignore[no-untyped-call]
                _write(self._name(types, result.codegen), data)

    def _name(self, types: Any, codegen: Any) -> str:
        versions = (sys.version, numba.__version__, np.__version__, codegen.magic_tuple())
        return f"{self._dispatcher.__name__}-{_hash((self._digest, _fields(types), versions))[:40]}"

    @functools.cached_property
    def _digest(self) -> str:
        return _hash([_contents(each) for each in _called(self._dispatcher)])


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _fields(types: Any) -> object:
    """Types by name; of named tuples also the names of the fields, which the types' own names lack."""
    return [(str(each), getattr(each, "fields", ()), _fields(getattr(each, "types", ()))) for each in types]


def _called(dispatcher: Any) -> list[Any]:
    """A kernel and all kernels that it calls, directly or not."""
    found, waiting = {}, [dispatcher]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = True
            waiting += [value for _, value in _constants(each.py_func) if isinstance(value, Dispatcher)]
    return list(found)


def _contents(dispatcher: Any) -> object:
    """All that a kernel's own code depends on; it has one `repr` in every process."""
    options = [(name, sorted(x) if isinstance(x, set) else x) for name, x in sorted(dispatcher.targetoptions.items())]
    constants = [(name, _constant(value)) for name, value in _constants(dispatcher.py_func)]
    return (
        dispatcher.py_func.__qualname__,
        options,
        constants,
        [_code(each) for each in _codes(dispatcher.py_func.__code__)],
    )


def _codes(code: CodeType) -> list[CodeType]:
    inside = [each for const in code.co_consts if isinstance(const, CodeType) for each in _codes(const)]
    return [code, *inside]


def _code(code: CodeType) -> object:
    return code.co_code, code.co_names, [each for each in code.co_consts if not isinstance(each, CodeType)]


def _constants(function: Any) -> list[tuple[str, object]]:
    """Global names of a function, which Numba compiles as constants, with their values."""
    names = sorted({name for code in _codes(function.__code__) for name in code.co_names})
    return [(name, function.__globals__[name]) for name in names if name in function.__globals__]


def _constant(value: object) -> object:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, type) and issubclass(value, Enum):
        return value.__name__, [(each.name, each.value) for each in value]
    return value if isinstance(value, int | float | str | tuple | np.generic) else getattr(value, "__name__", "")


@contextmanager
def _opened(base: str, make: bool = False) -> Iterator[int]:
    """The cache's folder, open. An error if somebody else can write to it: what is in it would be executed."""
    folder = None
    try:
        for name in (os.path.join(base, OWN_FOLDERS[0]), *OWN_FOLDERS[1:]):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=folder)
            outer, folder = folder, os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            if outer is not None:
                os.close(outer)
            status = os.fstat(folder)
            if status.st_uid != os.geteuid() or status.st_mode & OTHERS_MAY_WRITE:
                raise PermissionError(f"{os.path.join(base, OWN_FOLDERS[0])} is not yours, or others may write to it")
            with suppress(OSError):  # on a disk that cannot be written to
                os.fchmod(folder, 0o700)
        assert folder is not None
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


@functools.cache
def _base() -> tuple[str, str]:
    """The folder that holds the cache's, and why it is a temporary one, if it is; chosen once in a process."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    named = os.environ.get("NUMBA_CACHE_DIR")
    problem = "there is no home folder"
    for base in filter(os.path.isabs, (os.path.abspath(named) if named else "", home)):
        try:
            for parent in (*reversed(Path(base).parents), Path(base)):
                with suppress(FileExistsError):
                    parent.mkdir(0o700)
            with _opened(base, make=True) as folder:
                _sweep(folder)
            return base, ""
        except OSError as error:
            problem = f"{base}: {error.strerror}" if error.strerror else str(error)
    return _temporary(), problem


def _temporary() -> str:
    """A folder for this process and those that it forks, removed at its end; if there is none, one that never opens."""
    try:
        private = tempfile.mkdtemp(prefix="program_guided-")
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        with _opened(private, make=True):
            return private
    except OSError:
        return os.devnull


def _sweep(folder: int) -> None:
    """Remove entries that are no longer read, and what killed processes have left behind."""
    for name in os.listdir(folder):
        with suppress(OSError):
            if time.time() - os.stat(name, dir_fd=folder).st_mtime > MAX_UNUSED_DAYS * 86400:
                os.unlink(name, dir_fd=folder)


def _read(name: str) -> bytes:
    with _opened(_base()[0]) as folder:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with open(descriptor, "rb") as file:
            checksum, data = file.read(hashlib.sha256().digest_size), file.read()
            if os.fstat(descriptor).st_uid != os.geteuid() or checksum != hashlib.sha256(data).digest():
                raise ValueError(f"{name} is damaged, or not yours")
            with suppress(OSError):
                os.utime(descriptor)
    return data


def _write(name: str, data: bytes) -> None:
    temporary = f".{name}.{os.getpid()}"
    with _opened(_base()[0]) as folder:
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=folder)
            with open(descriptor, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)


class _Notice(event.Listener):
    """Says that kernels are compiled: with a bar in a terminal, once in a line elsewhere."""

    def __init__(self) -> None:
        self._compiling: list[Any] = []
        """Kernels that are being compiled, each for the one before it."""
        self._done: set[Any] = set()
        self._bar: Any = None
        self._said = False

    def on_start(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if _is_kernel(dispatcher):
            if not self._compiling:  # raised inside of the compiler, an interrupt would be a traceback
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            self._compiling.append(dispatcher)
            if len(self._compiling) == 1 and len(_called(dispatcher)) > 1 and sys.stderr is not None:
                self._begin(len(_called(dispatcher)))

    def on_end(self, event: Any) -> None:
        dispatcher = event.data["dispatcher"]
        if not _is_kernel(dispatcher):
            return
        self._compiling.pop()
        self._done.add(dispatcher)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=len(self._done))
        if not self._compiling:
            self._done.clear()
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def _begin(self, total: int) -> None:
        problem = _base()[1]
        often = f"at every start: {problem}" if problem else "only once"
        bar = progress_bars("{task.completed:,.0f}/{task.total:,.0f} kernels", transient=True)
        if not bar.disable:
            self._bar = bar
            bar.add_task(f"compiling ({often})", total=total)
            bar.start()
        elif not self._said:
            self._said = True
            with suppress(OSError):
                print(f"compiling kernels ({often}; up to half a minute) ...", file=sys.stderr, flush=True)


def _is_kernel(dispatcher: Any) -> bool:
    return isinstance(getattr(dispatcher, "_cache", None), _Entries)


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
