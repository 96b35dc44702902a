"""The cache of machine code: only what the user alone can have written is executed, and damage is compiled away."""

import hashlib
import os
import pickle
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from program_guided import compiled
from program_guided.compiled import kernel

ROOT = Path(__file__).parent.parent
SCRIPT = """
import numpy as np
from program_guided.compiled import kernel
FACTOR = 3
@kernel(inner=True)
def scaled(x): return x * FACTOR
@kernel
def total(array):
    sum = 0
    for n in range(len(array)): sum += scaled(array[n])
    return sum
print(total(np.arange(5)), sum(total.stats.cache_hits.values()))
"""
USED, COMPILED = "30 1", "30 0"
SAID = "compiling kernels"


def start(script, **variables):
    names = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", **{name: str(path) for name, path in variables.items()}}
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(script, **variables):
    """The script's output (its result, and whether machine code was read), and its lines on standard error."""
    process = start(script, **variables)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return printed.strip(), said.splitlines()


@pytest.fixture
def execute(monkeypatch, capsys):
    """The same in this process, as if it had just begun."""

    def executed(script, **variables):
        for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, path in variables.items():
            monkeypatch.setenv(name, str(path))
        compiled._base.cache_clear()
        capsys.readouterr()
        exec(script, {})
        return capsys.readouterr().out.strip()

    yield executed
    compiled._base.cache_clear()


def own(base):
    return base / "program_guided" / "kernels"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A cache that a first start has filled."""
    base = tmp_path_factory.mktemp("first") / "made" / "cache"
    printed, said = run(SCRIPT, XDG_CACHE_HOME=base)
    assert printed == COMPILED
    assert [SAID in line and "only once" in line for line in said] == [True]
    return base


@pytest.fixture
def filled(first, tmp_path):
    return Path(shutil.copytree(first, tmp_path / "filled"))


def test_a_second_start_reads_and_says_nothing(first):
    assert run(SCRIPT, XDG_CACHE_HOME=first) == (USED, [])
    folders = [first.parent, first, first / "program_guided", own(first)]
    assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o700"}
    assert {oct(entry.stat().st_mode & 0o777) for entry in own(first).iterdir()} == {"0o600"}


def test_the_folder_that_numba_was_given_is_used(execute, tmp_path):
    given = {"NUMBA_CACHE_DIR": tmp_path / "numba", "XDG_CACHE_HOME": tmp_path / "other"}
    assert [execute(SCRIPT, **given) for _ in range(2)] == [COMPILED, USED]
    assert list(own(tmp_path / "numba").iterdir())
    assert not (tmp_path / "other").exists()


def test_a_home_that_is_not_known_is_no_folder_called_tilde(execute, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert execute(SCRIPT) == COMPILED
    assert list(tmp_path.iterdir()) == []


class Planted:
    """A pickle that leaves a mark where it is read."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return (os.mkdir, (self.mark,))


def plant(folder, names, mark):
    """Files as this package and as Numba would read them."""
    folder.mkdir(parents=True, exist_ok=True)
    data = pickle.dumps(Planted(mark))
    for name in names:
        (folder / name).write_bytes(hashlib.sha256(data).digest() + data)
        (folder / f"{name}.nbi").write_bytes(pickle.dumps(numba.__version__) + data)


def test_what_is_planted_in_the_temporary_folder_is_not_executed(filled, tmp_path, execute):
    """With a home that cannot be written to; the private folder that is used instead is removed."""
    names = [entry.name for entry in own(filled).iterdir()]
    temporary, mark = tmp_path / "tmp", tmp_path / "mark"
    for folder in (own(temporary), temporary / "program_guided"):
        plant(folder, names, mark)
    before = sorted(temporary.rglob("*"))
    home = tmp_path / "file"
    home.write_text("not a folder, so that root cannot write to it either")
    printed, said = run(SCRIPT, HOME=home, TMPDIR=temporary)
    assert printed == COMPILED
    assert [SAID in line and "at every start" in line for line in said] == [True]
    assert not mark.exists()
    assert sorted(temporary.rglob("*")) == before
    plant(own(filled), names, mark)
    execute(SCRIPT, XDG_CACHE_HOME=filled)
    assert mark.exists()  # where only the user can have put them, they are executed


def spoil(folder, wrong):
    if wrong == "a link":
        moved = folder.rename(folder.parents[2] / "moved")
        folder.symlink_to(moved)
    elif wrong == "of another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 65534, 65534)
    else:
        folder.chmod(0o777 if wrong == "writable for all" else 0o770)


@pytest.mark.parametrize("name", ["program_guided", "program_guided/kernels"])
@pytest.mark.parametrize("wrong", ["writable for all", "writable for the group", "a link", "of another user"])
def test_a_folder_that_others_can_write_to_is_refused(filled, name, wrong, execute):
    assert execute(SCRIPT, XDG_CACHE_HOME=filled) == USED
    spoil(filled / name, wrong)
    assert execute(SCRIPT, XDG_CACHE_HOME=filled) == COMPILED


def test_a_folder_that_changes_after_the_start_is_refused(filled, execute):
    compiled._base.cache_clear()
    assert execute(SCRIPT, XDG_CACHE_HOME=filled) == USED
    own(filled).chmod(0o777)
    with pytest.raises(PermissionError):
        compiled._read(next(own(filled).iterdir()).name)


def test_an_entry_of_another_user_is_not_read(filled, execute):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    for entry in own(filled).iterdir():
        os.chown(entry, 65534, 65534)
    assert [execute(SCRIPT, XDG_CACHE_HOME=filled) for _ in range(2)] == [COMPILED, USED]


DAMAGES = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "random": lambda data: np.random.default_rng(0).bytes(len(data)),
    "one bit": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "no pickle": lambda data: hashlib.sha256(b"no pickle").digest() + b"no pickle",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entries_are_compiled_again(filled, damage, execute):
    for entry in own(filled).iterdir():
        entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
    assert [execute(SCRIPT, XDG_CACHE_HOME=filled) for _ in range(2)] == [COMPILED, USED]


@pytest.mark.parametrize(
    "change",
    [("FACTOR = 3", "FACTOR = 3.0"), ("x * FACTOR", "x + x * FACTOR"), ("inner=True", "inner=True, fastmath=True")],
    ids=["constant", "called kernel", "option"],
)
def test_an_entry_is_named_by_all_that_its_code_depends_on(filled, change, execute):
    assert execute(SCRIPT.replace(*change), XDG_CACHE_HOME=filled).endswith(" 0")


NAMED = """
from typing import NamedTuple
from program_guided.compiled import kernel
class Pair(NamedTuple):
    first: int
    second: int
class Holder(NamedTuple):
    pair: Pair
@kernel
def read(holder): return holder.pair.first
print(read(Holder(Pair(1, 2))), sum(read.stats.cache_hits.values()))
"""


def test_fields_of_named_tuples_name_the_entry(tmp_path, execute):
    assert [execute(NAMED, XDG_CACHE_HOME=tmp_path) for _ in range(2)] == ["1 0", "1 1"]
    swapped = NAMED.replace("first: int\n    second: int", "second: int\n    first: int")
    assert execute(swapped, XDG_CACHE_HOME=tmp_path) == "2 0"


def test_entries_that_are_no_longer_read_are_removed(filled, execute):
    for name, days in (("old", compiled.MAX_UNUSED_DAYS + 1), ("young", 1)):
        (own(filled) / name).touch()
        seconds = (own(filled) / name).stat().st_mtime - days * 86400
        os.utime(own(filled) / name, (seconds, seconds))
    assert execute(SCRIPT, XDG_CACHE_HOME=filled) == USED
    assert not (own(filled) / "old").exists()
    assert (own(filled) / "young").exists()


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path, execute):
    processes = [start(SCRIPT, XDG_CACHE_HOME=tmp_path) for _ in range(2)]
    assert [process.communicate(timeout=120)[0][:2] for process in processes] == ["30", "30"]
    assert len(list(own(tmp_path).iterdir())) == 2  # and no temporary files
    assert execute(SCRIPT, XDG_CACHE_HOME=tmp_path) == USED


def test_a_bar_is_drawn_in_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path), "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.DEVNULL, stderr=theirs):
        os.close(theirs)
        drawn = b""
        try:
            while data := os.read(ours, 4096):
                drawn += data
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert b"compiling (only once)" in drawn
    assert b"0/2" in drawn
    assert drawn.rstrip().endswith(b"\x1b[2K")  # it vanishes


def test_an_inner_kernel_cannot_be_called_from_python():
    @kernel(inner=True)
    def double(x):
        return 2 * x

    @kernel
    def outer(x):
        return double(x)

    with pytest.raises(TypeError, match="double is an inner kernel"):
        double(2)
    assert outer(2) == 4
    with pytest.raises(TypeError, match="double is an inner kernel"):
        double(2)
