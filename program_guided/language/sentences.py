"""Sentences as words that a parser reads: normalised, known phrases as one word, with the forms that programs may use.

lexicon = Lexicon.of(["to the left of", "coffee table", "man"], synonyms={"guy": "man"})
[word.text for word in lexicon.read("What's to the left of the guys?")]
["what", "'s", "to the left of", "the", "guys", "?"]        guys offers: guys, guy, man
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from program_guided.language.domain import Domain, fold

__all__ = ["FORMS", "MAX_WORDS", "Lexicon", "Word", "closed_words", "is_too_long", "normalised", "singular"]

MAX_WORDS = 400
"""Words of a sentence; the rest is not read."""
MAX_CHARACTERS = 12 * MAX_WORDS
MAX_WORD_LENGTH = 40
FORMS = ("text", "singular", "canonical")
"""Forms of a word that a program may use."""
QUOTES = str.maketrans("’‘`´“”–—‐‑−", "''''\"\"-----")
HYPHEN = re.compile(r"-(?!\d)|(?<=\w)-")
"""A hyphen that is no minus sign."""
TOKEN = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|-?\d+|(?:(?!n't)[^\W\d_])+|[<>=]+|[^\w\s]")
NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
NUMBER_WORDS = {
    **{word: str(number) for number, word in enumerate(NUMBERS)},
    **{word: str(number) for number, word in enumerate(ORDINALS, 1)},
    **{"once": "1", "twice": "2", "thrice": "3"},
}
IRREGULAR = {
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "feet": "foot",
    "teeth": "tooth",
    "geese": "goose",
    "mice": "mouse",
    "leaves": "leaf",
    "knives": "knife",
    "shelves": "shelf",
    "loaves": "loaf",
    "wives": "wife",
    "scarves": "scarf",
    "calves": "calf",
    "halves": "half",
    "wolves": "wolf",
    **{f"{word}s": word for word in ("shoe", "toe", "canoe", "horseshoe", "tie", "pie", "cookie", "brownie", "movie")},
    **{"buses": "bus", "skis": "ski", "taxis": "taxi", "lenses": "lens"},
}
SAME = ("ss", "us", "is")
"""Endings of words in s that are no plurals."""
ENDINGS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("oes", "o"), ("s", ""))


class Word(NamedTuple):
    """A word of a sentence, or a known phrase."""

    text: str
    forms: tuple[str, ...]
    """The forms of `FORMS`, equal where there is no other."""
    tags: tuple[str, ...] = ()
    """Knowledge of it: kind of thing, type of attribute, relation."""


def is_too_long(text: str) -> bool:
    """Whether a text is read in part only."""
    return len(text) > MAX_CHARACTERS or len(_tokens(text)) > MAX_WORDS


def normalised(text: str) -> tuple[str, ...]:
    """The words of a text: lower case, one for `what` and one for `'s`, hyphens as spaces."""
    return tuple(word[:MAX_WORD_LENGTH] for word in _tokens(text)[:MAX_WORDS])


def _tokens(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS].translate(QUOTES)).translate(QUOTES).lower()
    shown = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in HYPHEN.sub(" ", plain))
    return TOKEN.findall(shown)


def singular(word: str) -> str:
    """The singular of a noun, by its ending; of a phrase, that of its last word."""
    before, space, last = word.rpartition(" ")
    return f"{before}{space}{_singular(last)}"


def _singular(word: str) -> str:
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or word.endswith(SAME):
        return word
    return next((word[: -len(ending)] + new for ending, new in ENDINGS if word.endswith(ending)), word)


def closed_words(domain: Domain) -> dict[tuple[str, ...], str]:
    """The words of a domain's lists, as they stand in a sentence."""
    words = {normalised(word.replace("_", " ")): word for word in domain.vocabulary if not word.isdigit()}
    return {spelt: word for spelt, word in words.items() if spelt}


@dataclass(frozen=True)
class Lexicon:
    """Phrases that are read as one word, and what is known of words."""

    phrases: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """Words -> the phrase as programs spell it."""
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Word or phrase -> the one that programs use instead."""
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Word or phrase of programs -> what is known of it."""

    @classmethod
    def of(
        cls,
        phrases: Iterable[str],
        synonyms: Mapping[str, str] | None = None,
        tags: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Lexicon:
        """A lexicon of these phrases, and of those in the synonyms."""
        every = dict.fromkeys((*phrases, *(synonyms or {})))
        split = {normalised(phrase): phrase for phrase in every}
        return cls({words: phrase for words, phrase in split.items() if words}, synonyms or {}, tags or {})

    def joined(self, other: Lexicon) -> Lexicon:
        """Both lexicons; where they differ, the other's."""
        return Lexicon(
            {**self.phrases, **other.phrases}, {**self.synonyms, **other.synonyms}, {**self.tags, **other.tags}
        )

    def __contains__(self, phrase: object) -> bool:
        return phrase in self._known

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.phrases.values())

    @cached_property
    def _longest(self) -> dict[str, int]:
        """First word -> length of the longest phrase that begins with it."""
        longest: dict[str, int] = {}
        for words in self.phrases:
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
        return longest

    def read(self, text: str) -> tuple[Word, ...]:
        """The words of a sentence, the longest phrases first."""
        return tuple(map(self.word, self._phrased(normalised(text))))

    def divide(self, text: str) -> tuple[str, ...]:
        """The phrases that a text of a program is made of."""
        words = tuple(text.split())
        found: list[str] = []
        while words:
            lengths = range(len(words), 1, -1)
            length = next((each for each in lengths if " ".join(words[:each]) in self._known), 1)
            found.append(" ".join(words[:length]))
            words = words[length:]
        return tuple(found)

    def _phrased(self, words: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        at = 0
        while at < len(words):
            lengths = range(min(self._longest.get(words[at], 1), len(words) - at), 0, -1)
            phrases = (self._phrase(words[at : at + each]) for each in lengths)
            phrase, length = next((each for each in phrases if each is not None), (words[at], 1))
            found.append(phrase)
            at += length
        return found

    def _phrase(self, words: tuple[str, ...]) -> tuple[str, int] | None:
        """A known phrase, or the plural of one, and its length."""
        if words in self.phrases:
            return self.phrases[words], len(words)
        known = len(words) > 1 and (*words[:-1], _singular(words[-1])) in self.phrases
        return (" ".join(words), len(words)) if known else None

    def word(self, text: str) -> Word:
        """A word or phrase with its forms and tags."""
        one = self._singular(text)
        canonical = NUMBER_WORDS.get(text) or self.synonyms.get(text) or self.synonyms.get(one) or one
        tags = self.tags.get(canonical) or self.tags.get(text) or self.tags.get(one) or ()
        return Word(text, (text, one, canonical), tags)

    def _singular(self, text: str) -> str:
        """The singular, if it is known or the plural is not."""
        one = singular(text)
        one = self.phrases.get(tuple(one.split()), one)
        return one if one in self._known or text not in self._known else text

    def near(self, word: str, others: Iterable[str] = (), count: int = 3) -> list[str]:
        """Known words that are spelt similarly."""
        known = {fold(each): each for each in (*others, *self._known)}
        return [known[each] for each in difflib.get_close_matches(fold(word), known, count, 0.75)]

    def others(self, phrase: str) -> tuple[str, ...]:
        """Phrases of the same tags and number, itself included."""
        return self._groups.get((self.tags.get(phrase, ()), singular(phrase) == phrase), ())

    @cached_property
    def _groups(self) -> dict[tuple[tuple[str, ...], bool], tuple[str, ...]]:
        groups: defaultdict[tuple[tuple[str, ...], bool], list[str]] = defaultdict(list)
        for phrase, tags in self.tags.items():
            if tags and phrase in self._known:
                groups[tags, singular(phrase) == phrase].append(phrase)
        return {key: tuple(each) for key, each in groups.items()}

    def spoken(self, phrase: str) -> tuple[str, ...]:
        """Words that stand for a phrase."""
        return self._spoken.get(phrase, ())

    @cached_property
    def _spoken(self) -> dict[str, tuple[str, ...]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for word, phrase in self.synonyms.items():
            found[phrase].append(word)
        return {phrase: tuple(words) for phrase, words in found.items()}

    def as_dict(self) -> dict[str, Any]:
        """JSON, for a checkpoint."""
        phrases = sorted(phrase for words, phrase in self.phrases.items() if words == normalised(phrase))
        others = {" ".join(words): each for words, each in self.phrases.items() if words != normalised(each)}
        tags = {word: list(each) for word, each in sorted(self.tags.items())}
        return {"phrases": phrases, "spellings": others, "synonyms": dict(self.synonyms), "tags": tags}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Lexicon:
        plain = {normalised(phrase): phrase for phrase in record["phrases"]}
        others = {tuple(words.split()): phrase for words, phrase in record["spellings"].items()}
        tags = {word: tuple(each) for word, each in record["tags"].items()}
        return cls({**plain, **others}, dict(record["synonyms"]), tags)
