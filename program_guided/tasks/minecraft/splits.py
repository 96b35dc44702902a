"""The fixed splits that ship with the package: lists of (program, world seed), so that all users measure on the same
programs.

| split | programs | contents |
|---|---|---|
| train | 4,000 | at most 80 tokens and four If/While |
| test | 500 | the same ("Standard" in the paper) |
| longer | 500 | more than 80 tokens |
| complex | 500 | more than four If/While |
| test-complex | 500 | about twice as long as train (PGA's harder test) |
| data-flow-train | 2,000 | routines take the results of others; at most 80 tokens and four If/While |
| data-flow | 500 | the same |

    {"program": "def run():\\n  mine(gold)\\n", "seed": 123}        one line of train.jsonl
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Literal, get_args

from program_guided.errors import DataError
from program_guided.language.domain import ACTION, unknown
from program_guided.language.parser import parse
from program_guided.language.printer import relined
from program_guided.language.syntax import Call, Program
from program_guided.language.table import Kind
from program_guided.tasks.minecraft.domain import DOMAIN
from program_guided.tasks.minecraft.entry import Entry

__all__ = [
    "ALIASES",
    "DATA_FLOW",
    "DIFFICULTIES",
    "SIZES",
    "SPLITS_FOLDER",
    "Difficulty",
    "check_difficulty",
    "encode",
    "load_difficulty",
    "load_mixed_train",
    "load_split",
    "split_name",
]

SPLITS_FOLDER = Path(__file__).with_name("splits")
SIZES = {
    "train": 4000,
    "test": 500,
    "longer": 500,
    "complex": 500,
    "test-complex": 500,
    "data-flow-train": 2000,
    "data-flow": 500,
}
DATA_FLOW = ("data-flow-train", "data-flow")
"""Splits of programs with data flow."""
ALIASES = {"standard": "test"}
Difficulty = Literal["easy", "medium", "full"]
"""easy: of each program the first behaviour alone. medium: programs of at most MEDIUM_ROUTINES routines, at most one of
them a condition. full: all programs as they are."""
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
MEDIUM_ROUTINES = 4


def split_name(name: str) -> str:
    """The canonical name of a split."""
    name = ALIASES.get(name, name)
    if name not in SIZES:
        raise DataError(f"{unknown('split', name, SIZES)} (there are {', '.join((*SIZES, *ALIASES))})")
    return name


def load_split(name: str, folder: Path = SPLITS_FOLDER) -> tuple[Entry, ...]:
    """The entries of a split, checked against the index written with them; the same object on every call."""
    return _load(split_name(name), folder)


@cache
def load_mixed_train() -> tuple[Entry, ...]:
    """The programs of train and of data-flow-train, evenly mixed."""
    splits = (load_split("train"), load_split("data-flow-train"))
    placed = [((number + 1) / len(split), entry) for split in splits for number, entry in enumerate(split)]
    return tuple(entry for _, entry in sorted(placed, key=itemgetter(0)))


@cache
def _load(name: str, folder: Path) -> tuple[Entry, ...]:
    path = folder / f"{name}.jsonl"
    data = _read(path)
    if hashlib.sha256(data).hexdigest() != _checksum(folder, name):
        raise DataError(f"{path}: is not the file that was built; run 'proto dataset build minecraft' to restore it")
    records = [json.loads(line) for line in data.decode("utf-8").splitlines()]
    return tuple(Entry(parse(record["program"], DOMAIN), record["seed"]) for record in records)


def check_difficulty(name: str) -> Difficulty:
    """One clear error for a difficulty that there is not."""
    for known in DIFFICULTIES:
        if name == known:
            return known
    raise DataError(f"{unknown('difficulty', str(name), DIFFICULTIES)} (there are {', '.join(DIFFICULTIES)})")


def load_difficulty(name: str, difficulty: Difficulty) -> tuple[Entry, ...]:
    """The entries of a split at a difficulty; the same object on every call."""
    entries = load_split(name) if difficulty == "full" else _simplified(split_name(name), difficulty)
    if not entries:
        raise DataError(f"split '{name}': has no programs of difficulty '{difficulty}'; take train or test")
    return entries


@cache
def _simplified(name: str, difficulty: Difficulty) -> tuple[Entry, ...]:
    entries = load_split(name)
    if difficulty == "easy":
        return tuple(Entry(relined(Program((_first_behaviour(entry),)), DOMAIN), entry.seed) for entry in entries)
    return tuple(
        entry
        for entry in entries
        if len(entry.table) <= MEDIUM_ROUTINES and sum(kind != Kind.STEP for kind in entry.table.kind) <= 1
    )


def _first_behaviour(entry: Entry) -> Call:
    return next(call for call in entry.table.calls if DOMAIN.operation(call.operation).output == ACTION)


def encode(splits: dict[str, Sequence[Entry]]) -> dict[str, bytes]:
    """File name -> contents, for these splits and their index."""
    files = {f"{name}.jsonl": _encode(entries) for name, entries in splits.items()}
    index = {
        "domain_version": DOMAIN.version,
        "splits": {
            name: {"entries": len(splits[name]), "sha256": hashlib.sha256(files[f"{name}.jsonl"]).hexdigest()}
            for name in splits
        },
    }
    return {**files, "index.json": (json.dumps(index, indent=2) + "\n").encode("utf-8")}


def _checksum(folder: Path, name: str) -> str:
    """The checksum of a split in the index."""
    path = folder / "index.json"
    try:
        index = json.loads(_read(path))
        version, checksum = index["domain_version"], str(index["splits"][name]["sha256"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: is damaged; run 'proto dataset build minecraft' to restore it") from None
    if version != DOMAIN.version:
        raise DataError(f"{folder}: made for version {version} of the world, this is {DOMAIN.version}")
    return checksum


def _encode(entries: Sequence[Entry]) -> bytes:
    lines = [json.dumps({"program": entry.text, "seed": entry.seed}) + "\n" for entry in entries]
    return "".join(lines).encode("utf-8")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); 'proto dataset build minecraft' makes it"
        ) from None
