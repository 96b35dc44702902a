"""Meanings of names and values: which names a name covers, and which values exclude each other.

The release's own ontology is public as three text files, which are read where they are at hand (`ontology/` in the
folder of the data); `BUILT_IN`, of the words in `concepts.py`, serves elsewhere, and in the embedded world.

    ontology = read_ontology(Path("gqa/ontology"))
    ontology.is_a("car", "vehicle") is True            ontology.is_a("lake", "sea") is None      # they look the same
    ontology.holds({"chrome"}, "material", "metal") is True     ontology.holds({"tan"}, "color", "beige") is None

Departures from the paper: none; it leaves this to the annotations.

objects.txt has a line for each name: name, frequency, then in any order its category (a whole word), S, P or M for
singular, plural or mass, A for a name that is a category itself, `E:` synonyms, `K:` names which it looks like, H or U
for healthy and unhealthy food, and flags that are of no use here. attributes.txt separates by `;`: value, frequency,
categories (numbers are groups without a name), `S:` similar values, `C:` classes, `E:` synonyms, `A:` its adjective.
relations.txt: relation, frequency, kind, `G:` the relation of the same meaning, and `D:` an axis, which may itself be a
relation: those of one axis that do not mean the same are opposite. Categories above categories are in none of them;
real questions ask for them, so they are in `concepts.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path

from program_guided.errors import DataError
from program_guided.tasks.visual.concepts import CHILDREN, GROUPS, IMPLIED, UNHEALTHY, UPPER, VALUES, WHOLESOME

__all__ = ["BUILT_IN", "Ontology", "find_ontology", "read_ontology"]

FOLDER = "ontology"
NAMES_FILE, VALUES_FILE, RELATIONS_FILE = "objects.txt", "attributes.txt", "relations.txt"
PLURAL, CATEGORY, HEALTHY, NOT_HEALTHY = "P", "A", "H", "U"
COMPARATIVES = "then"
"""Group of all comparative relations, which do not mean the same."""
MAX_BYTES = 10_000_000
"""Maximum size of a file; the release's have 52,000."""

Words = frozenset[str]
NONE: Words = frozenset()


@dataclass(frozen=True)
class Ontology:
    """Names with their categories, and categories with their values."""

    above: Mapping[str, Words]
    """Name -> categories directly above it."""
    values: Mapping[str, Words]
    """Category -> its values, which exclude each other; categories without a name are numbered."""
    implied: Mapping[str, Words]
    """Name -> values that are true of everything with this name."""
    healthy: Mapping[str, bool]
    """Name, or category of names -> whether such food is healthy."""
    plurals: Mapping[str, str] = field(default_factory=dict)
    """Plural of a category -> the category, of which it covers the plural names."""
    plural_names: Words = NONE
    looks: Mapping[str, Words] = field(default_factory=dict)
    """Name -> names that it looks like."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Word -> the name that it stands for."""
    value_synonyms: Mapping[str, str] = field(default_factory=dict)
    similar: Mapping[str, Words] = field(default_factory=dict)
    """Value -> values that it cannot be distinguished from with certainty."""
    classes: Mapping[str, Words] = field(default_factory=dict)
    """Value -> classes, which are true of what has the value: metal of chrome."""
    meanings: Mapping[str, Words] = field(default_factory=dict)
    """Relation -> relations of the same meaning."""
    axes: Mapping[str, str] = field(default_factory=dict)
    """Relation -> axis on which it is one direction: above of below."""
    complete: bool = False
    """True if graphs lack no value: a value that is missing is then certain not to hold."""

    @property
    def digest(self) -> str:
        """Checksum of all that it says."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        return hashlib.sha256(json.dumps(record, sort_keys=True, default=sorted).encode("utf-8")).hexdigest()

    def name(self, word: str) -> str:
        """The name that a word stands for."""
        return word if word in self.above else self.synonyms.get(word, word)

    def value(self, word: str) -> str:
        """The value that a word stands for."""
        return word if word in self._categories else self.value_synonyms.get(word, word)

    def is_a(self, name: str, word: str) -> bool | None:
        """Whether something of a name is also called `word`; None if it might be."""
        name, word = self.name(name), self.name(word)
        kinds = self.kinds(word)
        if name in kinds:
            return True
        return None if self._look(name) & (self._look(word) | kinds) else False

    def kinds(self, word: str) -> Words:
        """All names that a word covers, itself included."""
        return self._kinds[self.name(word)] if self.name(word) in self._kinds else frozenset({word})

    def holds(self, known: Set[str], category: str, word: str) -> bool | None:
        """Whether a value holds of something of which these are known; None if that is not certain. The bare category
        is "": any that has the value."""
        value, own = self.value(word), {self.value(each) for each in known}
        if value in own or any(value in self.classes.get(each, NONE) for each in own):
            return True
        return False if own & self.rivals(category, value) and not self.might_hold(own, category, value) else None

    def might_hold(self, known: Set[str], category: str, word: str) -> bool:
        """Whether a known value is similar to this one, or of the same class."""
        value = self.value(word)
        rivals = self.rivals(category, value)
        return any(self.might_be(each, value) for each in map(self.value, known) if each in rivals)

    def might_be(self, one: str, other: str) -> bool:
        """Whether two values cannot be distinguished with certainty."""
        if other in self.similar.get(one, NONE) or one in self.similar.get(other, NONE):
            return True
        return bool((self.classes.get(one, NONE) | {one}) & (self.classes.get(other, NONE) | {other}))

    def mean_the_same(self, one: str, other: str) -> bool:
        """Whether two relations have the same meaning."""
        return bool((self.meanings.get(one, NONE) | {one}) & (self.meanings.get(other, NONE) | {other}))

    def are_opposite(self, one: str, other: str) -> bool:
        """Whether two relations are opposite directions of one axis."""
        same_axis = self.axes.get(one, one) == self.axes.get(other, other)
        return same_axis and not self.mean_the_same(one, other)

    def rivals(self, category: str, value: str) -> Words:
        """Values that stand beside this one."""
        sets = [self.values.get(category, NONE)] if category else [self.values[each] for each in self.categories(value)]
        return NONE.union(*sets) - {value}

    def categories(self, value: str) -> Words:
        """Categories of a value."""
        return self._categories.get(self.value(value), NONE)

    def health(self, name: str) -> bool | None:
        """Whether a food is healthy, by its name or a category above; None if that is not known, or not clear."""
        found = {self.healthy[each] for each in (self.name(name), *self.ancestors(name)) if each in self.healthy}
        return found.pop() if len(found) == 1 else None

    def ancestors(self, name: str) -> Words:
        """All categories above a name."""
        return self._ancestors.get(self.name(name), NONE)

    def parent_of(self, name: str) -> str | None:
        """The category directly above a name, the first where there are several."""
        return min(self.above.get(self.name(name), NONE), default=None)

    def _look(self, name: str) -> Words:
        return self.looks.get(name, NONE) | {name}

    @cached_property
    def _categories(self) -> dict[str, Words]:
        found: dict[str, set[str]] = {}
        for category, values in self.values.items():
            for value in values:
                found.setdefault(value, set()).add(category)
        return {value: frozenset(each) for value, each in found.items()}

    @cached_property
    def _ancestors(self) -> dict[str, Words]:
        @cache
        def of(name: str) -> Words:
            direct = self.above.get(name, NONE) - {name}
            return direct.union(*map(of, direct))

        return {name: of(name) for name in self.above}

    @cached_property
    def _kinds(self) -> dict[str, Words]:
        found: dict[str, set[str]] = {}
        for name, above in self._ancestors.items():
            for each in (name, *above):
                found.setdefault(each, {each}).add(name)
        for plural, category in self.plurals.items():
            found[plural] = {plural} | (found.get(category, set()) & self.plural_names)
        return {name: frozenset(each) for name, each in found.items()}


def _built_in() -> Ontology:
    above: dict[str, Words] = {}
    for category, names in CHILDREN.items():
        above.setdefault(category, NONE)
        for name in names.split(","):
            above[name] = above.get(name, NONE) | {category}
    implied = {name for names in IMPLIED.values() for name in names.split(",")}
    return Ontology(
        above,
        {category: frozenset(values.split(",")) for category, values in {**VALUES, **_numbered(GROUPS)}.items()},
        {name: frozenset(value for value, names in IMPLIED.items() if name in names.split(",")) for name in implied},
        {name: name in WHOLESOME.split(",") for name in f"{WHOLESOME},{UNHEALTHY}".split(",")},
        complete=True,
    )


def _numbered(groups: tuple[str, ...]) -> dict[str, str]:
    return {str(number): values for number, values in enumerate(groups)}


BUILT_IN = _built_in()
"""The ontology of `concepts.py`, and of the embedded world, whose graphs are complete."""


def find_ontology(folder: Path) -> Ontology:
    """The release's ontology, if its files lie in the folder `ontology`; else the one that is built in."""
    own = folder / FOLDER
    return read_ontology(own) if (own / NAMES_FILE).is_file() else BUILT_IN


def read_ontology(folder: Path) -> Ontology:
    """Read the release's three files; one clear error for a file that is not one of them."""
    names, values, relations = _Names(), _Values(), _Relations()
    for file, rows in ((NAMES_FILE, names), (VALUES_FILE, values), (RELATIONS_FILE, relations)):
        for number, line in _lines(folder / file):
            if not rows.add(line):
                raise DataError(
                    f"{folder / file}:{number}: expected a name, a number and further fields, separated by "
                    f"{rows.separator!r}; is this the release's file?"
                )
    above = {name: frozenset(UPPER[name].split(",")) for name in UPPER}
    for name, categories in names.above.items():
        above[name] = above.get(name, NONE) | (categories - {name})
    for category in {each for categories in names.above.values() for each in categories}:
        above.setdefault(category, NONE)
    others = {
        name: found for name, found in BUILT_IN.values.items() if not name.isdigit() and name not in values.values
    }
    return Ontology(
        above,
        {**others, **{category: frozenset(each) for category, each in values.values.items()}},
        BUILT_IN.implied,
        names.healthy,
        names.plurals,
        frozenset(names.plural_names),
        names.looks,
        names.synonyms,
        values.synonyms,
        values.similar,
        values.classes,
        relations.meanings,
        relations.axes,
    )


class _Names:
    """Lines of objects.txt."""

    separator = ","

    def __init__(self) -> None:
        self.above: dict[str, Words] = {}
        self.healthy: dict[str, bool] = {}
        self.plurals: dict[str, str] = {}
        self.plural_names: set[str] = set()
        self.looks: dict[str, Words] = {}
        self.synonyms: dict[str, str] = {}

    def add(self, line: str) -> bool:
        """Read a line; False if it is none."""
        name, *fields = (each.strip() for each in line.split(self.separator))
        if not name or not fields or not fields[0].isdigit():
            return False
        flags = {each for each in fields[1:] if len(each) <= 2}
        categories = frozenset(each for each in fields[1:] if len(each) > 2 and ":" not in each)
        self.above[name] = self.above.get(name, NONE) | categories
        if PLURAL in flags:
            self.plural_names.add(name)
        if {PLURAL, CATEGORY} <= flags and categories:
            self.plurals[name] = min(categories)
        if flags & {HEALTHY, NOT_HEALTHY}:
            self.healthy[name] = HEALTHY in flags
        for kind, words in _lists(fields[1:], "."):
            if kind == "K":
                self.looks[name] = self.looks.get(name, NONE) | words
            if kind == "E":
                self.synonyms.update(dict.fromkeys(words - {name}, name))
        return True


class _Values:
    """Lines of attributes.txt."""

    separator = ";"

    def __init__(self) -> None:
        self.values: dict[str, set[str]] = {}
        self.similar: dict[str, Words] = {}
        self.classes: dict[str, Words] = {}
        self.synonyms: dict[str, str] = {}

    def add(self, line: str) -> bool:
        """Read a line; False if it is none."""
        first, *fields = (each.strip() for each in line.split(self.separator))
        value, _, count = first.partition(",")
        fields = [count, *fields] if count else fields
        if not value or not fields or not fields[0].isdigit():
            return False
        for category in self._categories(fields[1:]):
            self.values.setdefault(category, set()).add(value)
        for kind, words in _lists(fields[1:], ","):
            if kind == "S":
                self.similar[value] = words
            if kind == "C":
                self.classes[value] = words
            if kind in ("E", "A"):
                self.synonyms.update(dict.fromkeys(words - {value}, value))
        return True

    @staticmethod
    def _categories(fields: list[str]) -> Iterator[str]:
        for each in fields:
            if ":" not in each:
                yield from (name.strip() for name in each.split(",") if len(name.strip()) > 1 or name.strip().isdigit())


class _Relations:
    """Lines of relations.txt."""

    separator = ","

    def __init__(self) -> None:
        self.meanings: dict[str, Words] = {}
        self.axes: dict[str, str] = {}

    def add(self, line: str) -> bool:
        """Read a line; False if it is none."""
        relation, *fields = (each.strip() for each in line.split(self.separator))
        if not relation or not fields or not fields[0].isdigit():
            return False
        groups = NONE.union(*(words for kind, words in _lists(fields[1:], ".") if kind == "G"))
        self.meanings[relation] = groups - {COMPARATIVES}
        self.axes.update((relation, axis) for kind, words in _lists(fields[1:], ".") if kind == "D" for axis in words)
        return True


def _lists(fields: list[str], separator: str) -> Iterator[tuple[str, Words]]:
    """Fields such as `E:taxi.cab`: the letter, and the words."""
    for each in fields:
        kind, colon, words = each.partition(":")
        if colon:
            yield kind, frozenset(word.strip() for word in words.split(separator) if word.strip())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with content, numbered from 1."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{path}: is larger than {MAX_BYTES:,} bytes, so not the release's file")
        text = path.read_text("utf-8")
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); all three files of the ontology are needed"
        ) from None
    except UnicodeError:
        raise DataError(f"{path}: is not UTF-8, so not the release's file") from None
    yield from ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
