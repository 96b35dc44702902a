"""A trained parser as a user holds it: questions in English -> programs, with how sure it is.

reading = parser.read(["Is the bag to the left of the bottle red?"])[0]
reading.program, reading.confidence, reading.understood, reading.alternatives, reading.unknown
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from program_guided.errors import DataError
from program_guided.language.domain import Domain
from program_guided.language.sentences import is_too_long
from program_guided.language.syntax import Program
from program_guided.learning.beam import BEAM, Guess, search
from program_guided.learning.codec import Codec, Sentence
from program_guided.learning.networks import Saved, load_network
from program_guided.models.config import TranslatorConfig
from program_guided.models.translator import Translator

__all__ = ["BATCH", "Alternative", "Parser", "Reading", "chosen_threshold"]

BATCH = 32
"""Questions that are read together."""
MAX_NEAR, MAX_UNKNOWN = 3, 5


@dataclass(frozen=True)
class Alternative:
    """A program that a question may mean."""

    program: Program
    log_probability: float


@dataclass(frozen=True)
class Reading:
    """A question as it was understood."""

    question: str
    alternatives: tuple[Alternative, ...]
    """The best one first: by the log-probability over the length penalty."""
    confidence: float
    """Probability of the first alternative, times that of a question that a program can answer; 0 if the question is
    empty, or so long that only a part of it is read."""
    understood: bool
    """Whether that is above the parser's threshold."""
    unknown: Mapping[str, list[str]] = field(default_factory=dict)
    """The first words that the parser does not know -> known ones that are spelt similarly."""

    @property
    def program(self) -> Program | None:
        """The best guess; None if no program was found."""
        return self.alternatives[0].program if self.alternatives else None


class Parser:
    """A network with its vocabularies and its threshold."""

    def __init__(self, network: Translator, codec: Codec, threshold: float = 0.0) -> None:
        self.network, self.codec, self.threshold = network.eval(), codec, threshold

    @classmethod
    def restored(cls, saved: Saved, domain: Domain) -> Parser:
        """The parser of a checkpoint, for a domain."""
        config = saved.config
        try:
            codec = Codec.from_dict(domain, config)
            network = Translator(TranslatorConfig(**config["network"]), codec.sizes)
            threshold = float(config["threshold"])
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError):
            raise DataError(f"{saved.folder}: is damaged, or a parser of another version") from None
        load_network(network, saved)
        return cls(network, codec, threshold)

    def read(self, questions: Sequence[str], beam: int = BEAM, constrained: bool = True) -> list[Reading]:
        """Readings of questions, in their order."""
        sentences = [self.codec.lexicon.read(question) for question in questions]
        order = sorted(range(len(questions)), key=lambda at: len(sentences[at]))
        found: dict[int, Reading] = {}
        for first in range(0, len(order), BATCH):
            some = order[first : first + BATCH]
            guesses, familiar = search(self.network, self.codec, [sentences[at] for at in some], beam, constrained)
            for at, each, known in zip(some, guesses, familiar, strict=True):
                found[at] = self._reading(questions[at], sentences[at], each, known)
        return [found[at] for at in range(len(questions))]

    def _reading(self, question: str, sentence: Sentence, guesses: Sequence[Guess], familiar: float) -> Reading:
        best = {each.program: each for each in reversed(guesses) if each.program is not None}
        programs = [Alternative(program, each.log_probability) for program, each in reversed(best.items())]
        is_read = bool(guesses) and bool(sentence) and not is_too_long(question)
        sure = math.exp(guesses[0].log_probability) * familiar if is_read else 0.0
        valid = bool(guesses) and guesses[0].program is not None
        understood = valid and is_read and sure >= self.threshold
        return Reading(question, tuple(programs if valid else ()), sure, understood, self._unknown(sentence))

    def _unknown(self, sentence: Sentence) -> dict[str, list[str]]:
        words = [word.text for word in sentence if not self.codec.knows(word) and any(map(str.isalpha, word.text))]
        few = list(dict.fromkeys(words))[:MAX_UNKNOWN]
        return {word: self.codec.lexicon.near(word, self.codec.words[2:], MAX_NEAR) for word in few}


def chosen_threshold(right: Sequence[float], wrong: Sequence[float]) -> float:
    """The confidence with the highest balanced accuracy: of questions that were read rightly, and of senseless ones."""
    candidates = np.unique([0.0, *right, *wrong])
    accepted = (np.array(right)[None] >= candidates[:, None]).mean(axis=1) if right else np.ones(len(candidates))
    refused = (np.array(wrong)[None] < candidates[:, None]).mean(axis=1) if wrong else np.zeros(len(candidates))
    return float(candidates[int((accepted + refused).argmax())])
