"""Breaks the code in many places, one at a time, and says which breaks the tests notice (mutation testing).

python tools/mutants.py                      all of tools/mutants.toml; results/mutants.json; fails below 95 % killed
python tools/mutants.py --only NAME ...      some of them, by name or by the beginning of a path
python tools/mutants.py --count              how many there are, by folder
python tools/mutants.py --explore 40         systematic mutations by chance: survivors are equivalent or lack a test

A mutant is killed if its tests fail, or compute for longer than `--limit` seconds. It is applied in a copy of the
repository (out/mutants), never here. A run that was interrupted goes on where it stopped, as long as the code is the
same. The tests that kill must pass without a mutation; a mutation whose text is not found exactly once is an error.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LISTED = Path(__file__).with_suffix(".toml")
RESULTS = ROOT / "results" / "mutants.json"
COPIES = ROOT / "out" / "mutants"
PACKAGE = "program_guided"
MINIMUM = 95.0
"""% of the mutants that must be killed."""
TIME_LIMIT, CRASH = "time limit", "crash"
PATIENCE = 10
"""The limit is of computing time; a run that takes this many times longer is stuck."""
FAILED = (1, 2)
"""Exit codes of pytest: a test failed, or a file could not be imported."""
OPTIONS = ("-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
LIBRARIES = """torch numba pytest hypothesis lark gymnasium h5py beartype jaxtyping rich.console tyro PIL.Image
    lightning_fabric safetensors.torch tensorboard matplotlib.pyplot"""
"""Modules that tests import."""


class BadList(Exception):
    """The list does not fit the code or the tests."""


@dataclass(frozen=True)
class Mutant:
    """A change of one file: `old`, which occurs once, becomes `new`."""

    name: str
    path: str
    """Below the package."""
    old: str
    new: str
    tests: tuple[str, ...]
    interpreted: bool = False
    """Run the kernels without compiling them."""

    @property
    def file(self) -> str:
        return f"{PACKAGE}/{self.path}"

    def applied(self, source: str) -> str:
        """The changed source; `BadList` if the text is not found exactly once."""
        if (found := source.count(self.old)) != 1 or self.old == self.new:
            raise BadList(f"{self.name}: its text occurs {found} times in {self.file}, not once: {self.old!r}")
        return source.replace(self.old, self.new)


def listed() -> list[Mutant]:
    """All mutants of the list."""
    groups = tomllib.loads(LISTED.read_text("utf-8"))["group"]
    mutants = [
        Mutant(
            f"{group['path'].removesuffix('.py')}: {name}",
            group["path"],
            old,
            new,
            tuple(group["tests"]),
            group.get("interpreted", False),
        )
        for group in groups
        for name, old, new in group["mutants"]
    ]
    repeated = [name for name, count in Counter(mutant.name for mutant in mutants).items() if count > 1]
    if repeated:
        raise BadList(f"two mutants are named {repeated[0]}")
    return mutants


def check(mutants: list[Mutant]) -> None:
    """`BadList` unless every mutation can be applied and leaves Python."""
    for mutant in mutants:
        ast.parse(mutant.applied((ROOT / mutant.file).read_text("utf-8")))


# Systematic mutations --------------------------------------------------------------------------------------------

COMPARISONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.NotIn: ("not in", "in"),
    ast.IsNot: ("is not", "is"),
}
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
CALLS = {"min": "max", "minimum": "maximum", "amin": "amax", "argmin": "argmax", "any": "all", "ones": "zeros"}
CALLS |= {new: old for old, new in CALLS.items()}
DROPPED = ("detach", "masked_fill", "clamp", "copy", "clone", "transpose")
"""Methods whose call is left out."""


def _changes(tree: ast.AST, segment: Any) -> Iterator[tuple[ast.expr, str]]:
    """Expressions and what they become."""
    annotations = {id(inner) for node in ast.walk(tree) for inner in _annotations(node)}
    for node in ast.walk(tree):
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            yield node, f"{segment(node.left)} {COMPARISONS[type(node.ops[0])][1]} {segment(node.comparators[0])}"
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield node, f"{segment(node.left)} {OPERATORS[type(node.op)][1]} {segment(node.right)}"
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            yield node, f"({word.join(f'({segment(each)})' for each in node.values)})"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
            yield node, f"({segment(node.operand)})"
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, str(node.value + 1)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, str(not node.value)
        elif isinstance(node, ast.IfExp):
            yield node, f"{segment(node.orelse)} if {segment(node.test)} else {segment(node.body)}"
        elif isinstance(node, ast.Call):
            yield from _changed_calls(node, segment)


def _changed_calls(node: ast.Call, segment: Any) -> Iterator[tuple[ast.expr, str]]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in DROPPED:
        yield node, segment(function.value)
    if isinstance(function, ast.Attribute) and function.attr in CALLS:
        yield function, f"{segment(function.value)}.{CALLS[function.attr]}"
    if isinstance(function, ast.Name) and function.id in CALLS:
        yield function, CALLS[function.id]
    if len(node.args) == 2 and not node.keywords and not any(isinstance(each, ast.Starred) for each in node.args):
        one, other = map(segment, node.args)
        if one != other and not (isinstance(function, ast.Name) and function.id in ("isinstance", "min", "max")):
            yield node, f"{segment(function)}({other}, {one})"


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if isinstance(found := getattr(node, name, None), ast.AST):
            yield from ast.walk(found)


def systematic(path: str, tests: tuple[str, ...], interpreted: bool) -> list[Mutant]:
    """All mutations of a file by rule: comparisons, off by one, and / or, negations, minimum and maximum, exchanged
    arguments and branches, dropped masks and detachments."""
    source = (ROOT / PACKAGE / path).read_text("utf-8")
    data = source.encode("utf-8")
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, new in _changes(ast.parse(source), lambda each: ast.get_source_segment(source, each)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        low, high = starts[node.lineno - 1], starts[node.end_lineno]
        while low and data.count(data[low:high]) > 1:
            low = starts[starts.index(low) - 1]
        old = data[low:high].decode("utf-8")
        changed = (data[low:first] + new.encode("utf-8") + data[last:high]).decode("utf-8")
        mutant = Mutant(f"{path}:{node.lineno}:{node.col_offset}", path, old, changed, tests, interpreted)
        try:
            ast.parse(mutant.applied(source))
        except (SyntaxError, BadList):
            continue
        found.append(mutant)
    return found


# Running ---------------------------------------------------------------------------------------------------------


def copied(folder: Path) -> Path:
    """A copy of the repository; files that have not changed are left as they are, and with them what is cached."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    wanted = {Path(name) for name in os.fsdecode(names.stdout).splitlines() if (ROOT / name).is_file()}
    for name in wanted:
        target, data = folder / name, (ROOT / name).read_bytes()
        if not (target.is_file() and target.read_bytes() == data):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    for path in [*folder.rglob("*.py")]:
        if path.relative_to(folder) not in wanted:
            path.unlink()
    # The copy does not lie beside the real data, which some tests need.
    os.environ.setdefault("PROGRAM_GUIDED_DATA", str(ROOT.parent / "shared" / "data"))
    return folder


class Run:
    """The tests of a mutant in a copy to which it is applied (or not), in a process of its own."""

    def __init__(self, copy: Path, mutant: Mutant, limit: float, apply: bool = True) -> None:
        self.copy, self.mutant, self.applied = copy, mutant, apply
        self._begun, self._limit = time.monotonic(), limit
        self._file = copy / mutant.file
        self._before, self._stamp = self._file.read_bytes(), self._file.stat()
        self._own = Path(tempfile.mkdtemp(prefix="run-", dir=copy.parent))
        if apply:
            source = mutant.applied(self._before.decode("utf-8"))
            self._file.write_text(source, "utf-8")
            when = 10**9 + int(hashlib.sha256(source.encode("utf-8")).hexdigest()[:7], 16)
            os.utime(self._file, (when, when))  # caches of byte code go by the time of change, in seconds
        sys.stdout.flush()
        self._process = os.fork()
        if not self._process:
            self._child()

    def _child(self) -> None:
        """Run pytest; what the tests import was imported before, but for the package."""
        code = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(self._limit), int(self._limit) + 5))
            output = os.open(self._own / "output", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            os.chdir(self.copy)
            sys.path.insert(0, str(self.copy))
            for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
                del sys.modules[name]
            kernels = self.applied and "/world/" in self.mutant.path
            cache = self._own if kernels else self.copy.with_name(f"{self.copy.name}-cache")
            os.environ |= {"PYTHONPATH": str(self.copy), "XDG_CACHE_HOME": str(cache)}
            import numba
            import pytest

            vars(numba.config)["DISABLE_JIT"] = int(self.mutant.interpreted)
            code = int(pytest.main([*OPTIONS, *self.mutant.tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def ended(self) -> dict[str, Any] | None:
        """Outcome, the test that failed and the time; None if it still runs."""
        process, status = os.waitpid(self._process, os.WNOHANG)
        stuck = not process and time.monotonic() - self._begun > PATIENCE * self._limit
        if not process and not stuck:
            return None
        if stuck:
            self.stop()
        printed = (self._own / "output").read_text("utf-8", "replace")
        self.restore()
        code = os.waitstatus_to_exitcode(status)
        late = stuck or code in (-signal.SIGXCPU, -signal.SIGKILL)
        ends = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        failed = [line.split(" ", maxsplit=1)[1].split(" - ")[0] for line in ends]
        if not late and code >= 0 and code not in (0, *FAILED):
            raise BadList(f"{' '.join(self.mutant.tests)}: pytest ended with {code}\n{printed[-2000:]}")
        outcome = "killed" if late or code else "survived"
        by = TIME_LIMIT if late else CRASH if code < 0 else failed[0] if failed else ""
        return {"outcome": outcome, "by": by, "seconds": round(time.monotonic() - self._begun, 1)}

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.killpg(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)

    def restore(self) -> None:
        """Undo the mutation."""
        self._file.write_bytes(self._before)
        os.utime(self._file, ns=(self._stamp.st_atime_ns, self._stamp.st_mtime_ns))
        shutil.rmtree(self._own, ignore_errors=True)


def run_all(
    mutants: list[Mutant], jobs: int, limit: float, apply: bool = True
) -> Iterator[tuple[Mutant, dict[str, Any]]]:
    """Run the tests of mutants, some at once, each in a copy of its own; how each ended."""
    _import_libraries()
    copies = [copied(COPIES / f"copy-{number}") for number in range(jobs)]
    waiting, running = [*mutants], list[Run]()
    try:
        while waiting or running:
            while waiting and copies:
                running.append(Run(copies.pop(), waiting.pop(0), limit, apply))
            time.sleep(0.02)
            for each in [*running]:
                if (ended := each.ended()) is not None:
                    running.remove(each)
                    copies.append(each.copy)
                    yield each.mutant, ended
    finally:
        for each in running:
            each.stop()
            each.restore()


def check_killers(mutants: list[Mutant], found: dict[str, Any], jobs: int, limit: float) -> None:
    """`BadList` unless the tests that killed mutants pass without a mutation."""
    killers: dict[bool, set[str]] = {False: set(), True: set()}
    for mutant in mutants:
        killers[mutant.interpreted].add(found[mutant.name]["by"])
    every = [
        replace(mutants[0], tests=tuple(sorted(names)), interpreted=interpreted)
        for interpreted, each in killers.items()
        if (names := each - {"", TIME_LIMIT, CRASH})
    ]
    for _, ended in run_all(every, jobs, 10 * limit, apply=False):
        if ended["outcome"] != "survived":
            raise BadList(f"without any mutation {ended['by']} fails")


def _import_libraries() -> None:
    """Import what tests need once, so that each run, a fork of this process, begins at once."""
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LIBRARIES.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])  # imports more than torch does


def _code() -> str:
    """A hash of the package and its tests: results are of this code."""
    digest = hashlib.sha256()
    for folder in (PACKAGE, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip()


def _explore(mutants: list[Mutant], count: int, seed: int, jobs: int, limit: float) -> None:
    first = {mutant.path: mutant for mutant in reversed(mutants)}
    every = [each for path, one in first.items() for each in systematic(path, one.tests, one.interpreted)]
    known = {(mutant.path, mutant.applied((ROOT / mutant.file).read_text("utf-8"))) for mutant in mutants}
    fresh = [each for each in every if (each.path, each.applied((ROOT / each.file).read_text("utf-8"))) not in known]
    outcomes: Counter[str] = Counter()

    chosen = random.Random(seed).sample(fresh, min(count, len(fresh)))
    for mutant, ended in run_all(chosen, jobs, limit):
        outcomes[ended["outcome"]] += 1
        print(f"{ended['outcome']:9}{ended['seconds']:6.1f} s  {mutant.name}  {ended['by']}", flush=True)
        if ended["outcome"] == "survived":
            print(f"- {mutant.old.rstrip()}\n+ {mutant.new.rstrip()}", flush=True)
    print(f"{len(every)} systematic mutations, {len(fresh)} of them not on the list; {dict(outcomes)}")


def _measure(mutants: list[Mutant], whole: bool, jobs: int, limit: float) -> int:
    kept: dict[str, Any] = {}
    origin = {"command": "python tools/mutants.py", "commit": _commit(), "code": _code()}
    if whole and RESULTS.exists():
        before = json.loads(RESULTS.read_text("utf-8"))
        kept = before["mutants"] if before["code"] == origin["code"] else {}
    found = {mutant.name: kept[mutant.name] for mutant in mutants if mutant.name in kept}

    waiting = [mutant for mutant in mutants if mutant.name not in found]
    for mutant, ended in run_all(waiting, jobs, limit) if waiting else ():
        found[mutant.name] = ended
        print(f"{len(found):4} {ended['outcome']:9}{ended['seconds']:6.1f} s  {mutant.name}  {ended['by']}", flush=True)
        if whole:
            _save(origin, mutants, found)
    check_killers(mutants, found, jobs, limit)
    survived = [name for name, each in found.items() if each["outcome"] == "survived"]
    share = 100 * (1 - len(survived) / len(found))
    print(f"{len(found) - len(survived)} of {len(found)} killed ({share:.1f} %)")
    for name in survived:
        print(f"survived: {name}")
    return int(share < MINIMUM)


def _save(origin: dict[str, str], mutants: list[Mutant], found: dict[str, Any]) -> None:
    killed = sum(each["outcome"] == "killed" for each in found.values())
    figures = {
        **origin,
        "count": len(mutants),
        "killed": killed,
        "mutants": {mutant.name: found[mutant.name] for mutant in mutants if mutant.name in found},
    }
    written = RESULTS.with_suffix(".part")
    written.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    written.replace(RESULTS)


def main() -> int:
    """Run as a command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--explore", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS")
    given = parser.parse_args()
    try:
        mutants = listed()
        check(mutants)
        chosen = [each for each in mutants if not given.only or each.name.startswith(tuple(given.only))]
        if not chosen:
            raise BadList(f"no mutant's name begins with {' or '.join(given.only)}")
        if given.count:
            for folder, count in Counter(str(Path(each.path).parent) for each in chosen).items():
                print(f"{count:4} {folder}")
            print(f"{len(chosen):4} in all")
            return 0
        if given.explore is not None:
            _explore(chosen, given.explore, given.seed, given.jobs, given.limit)
            return 0
        return _measure(chosen, not given.only, given.jobs, given.limit)
    except BadList as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
