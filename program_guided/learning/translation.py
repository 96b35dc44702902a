"""Training of a parser, from questions to programs, in the loop that trains everything (`learning/trainer.py`).

train(TranslationJob(task, TranslationSettings(), Path("out/minecraft-parser")))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from program_guided.errors import DataError
from program_guided.language.comparison import signature
from program_guided.language.domain import Domain
from program_guided.language.sentences import Lexicon, Word
from program_guided.language.syntax import Program
from program_guided.learning.beam import offers_of
from program_guided.learning.codec import Codec, Encoded, Pair, Sentence, checked, padded_length
from program_guided.learning.cursor import cursors
from program_guided.learning.learner import AllReduce, Learner, Share
from program_guided.learning.networks import load_network, read_network, save_network
from program_guided.learning.parser import Parser, chosen_threshold
from program_guided.learning.settings import TranslationSettings
from program_guided.learning.trainer import Training, Validation
from program_guided.models.config import TranslatorConfig
from program_guided.models.translator import BEGINNING, PADDING, Translator

__all__ = ["KIND", "Batch", "Corpus", "Translation", "TranslationJob", "corpus_of", "divided"]

KIND = "parser"
POOL = 8
"""Batches whose questions are drawn together and sorted by length."""
UNFAMILIAR = 8
"""One question of this number has its words shuffled or replaced, to be recognised as one that says nothing."""
VALIDATED = 400
"""Held-out questions that are evaluated on during training."""
UNKNOWN = 1


class Asking(Protocol):
    """A task as the training of a parser needs it."""

    @property
    def task_name(self) -> str: ...
    @property
    def given(self) -> str: ...
    @property
    def domain(self) -> Domain: ...
    def parse(self, text: str, source: str = "<program>") -> Program: ...
    def questions(self, split: str) -> Any: ...
    def real_questions(self, root: Path, split: str) -> Any: ...
    def lexicon(self, root: Path | None = None) -> Lexicon: ...
    def rephrased(self, question: str, program: Program, lexicon: Lexicon, random: Random) -> tuple[str, Program]: ...


class Corpus(NamedTuple):
    """Questions to train on, and those held out."""

    train: list[Pair]
    held_out: list[Pair]


def corpus_of(task: Asking, root: Path | None, held_out: float, fold: int = 0) -> Corpus:
    """The questions of train, divided by their groups."""
    given = task.questions("train") if root is None else task.real_questions(root, "train")
    return divided(checked(given, task.parse), held_out, fold)


def divided(pairs: Sequence[Pair], share: float, fold: int) -> Corpus:
    """Questions divided at random by their groups; each fold holds out other groups."""
    groups = sorted({pair.group for pair in pairs})
    Random(0).shuffle(groups)
    count = max(1, round(share * len(groups)))
    held_out = {*groups[fold * count : (fold + 1) * count]}
    return Corpus(
        [pair for pair in pairs if pair.group not in held_out], [pair for pair in pairs if pair.group in held_out]
    )


class Batch(NamedTuple):
    """Questions with their programs."""

    encoded: Encoded
    inputs: Tensor
    cursors: Tensor
    """Places in the question that each input has come to."""
    targets: Tensor
    """`PADDING` after the end, and where a terminal can be neither generated nor copied."""
    familiar: Tensor
    """False where the words were shuffled."""


class Translation(Learner[TranslationSettings]):
    """An iteration is one update on some questions."""

    model: Translator
    shapes_recur = True

    def __init__(
        self,
        network: Translator,
        codec: Codec,
        pairs: Sequence[Pair],
        task: Asking,
        settings: TranslationSettings,
        seed: int,
        share: Share,
        all_reduce: AllReduce,
    ) -> None:
        super().__init__(network, settings, seed, share, all_reduce)
        self._codec, self._pairs, self._task = codec, pairs, task
        self._count = settings.batch_size // share[1]
        self._pool: tuple[int, list[list[tuple[Sentence, Program]]]] = (-1, [])

    def step(self) -> float:
        self.model.train()
        batch = self._batch(self._drawn(), Random(f"{self.own_seed} {self.done}"))
        scores, familiar = self.model(batch.encoded.source, batch.inputs, batch.cursors)
        known = (batch.targets != PADDING) & batch.familiar[:, None]
        chosen = scores.gather(-1, batch.targets.clamp(min=0)[..., None])[..., 0]
        loss = -(chosen * known).sum() / known.sum().clamp(min=1)
        recognised = functional.binary_cross_entropy_with_logits(familiar, batch.familiar.float())
        value = self.optimizer_step(loss + self.settings.familiar_coef * recognised)
        self.done += 1
        return value

    def _drawn(self) -> list[tuple[Sentence, Program]]:
        """The questions of this iteration: of similar length, drawn anew for every pool of batches."""
        number, place = divmod(self.done, POOL)
        if self._pool[0] != number:
            self._pool = (number, self._draw(Random(f"{self.own_seed} pool {number}")))
        return self._pool[1][place]

    def _draw(self, random: Random) -> list[list[tuple[Sentence, Program]]]:
        drawn = [self._question(random) for _ in range(POOL * self._count)]
        drawn.sort(key=lambda each: len(each[0]))
        batches = [drawn[first : first + self._count] for first in range(0, len(drawn), self._count)]
        random.shuffle(batches)
        return batches

    def _question(self, random: Random) -> tuple[Sentence, Program]:
        pair = self._pairs[int(random.random() * len(self._pairs))]
        question, program = pair.question, pair.program
        if random.random() < self.settings.rephrased:
            question, program = self._task.rephrased(question, program, self._codec.lexicon, random)
        return self._codec.lexicon.read(question), program

    def _batch(self, drawn: Sequence[tuple[Sentence, Program]], random: Random) -> Batch:
        sentences = [sentence for sentence, _ in drawn]
        familiar = torch.ones(len(drawn), dtype=torch.bool)
        for row in random.sample(range(len(drawn)), len(drawn) // UNFAMILIAR):
            other = drawn[int(random.random() * len(drawn))][0]
            sentences[row], familiar[row] = scrambled(sentences[row], other, random), False
        encoded = self._codec.encode(sentences)
        self._forget(encoded.source.words, encoded.source.canonical)
        targets = [self._targets(drawn, encoded, row, bool(familiar[row])) for row in range(len(drawn))]
        width = padded_length(max(map(len, targets)))
        padded = torch.tensor([[*each, *[PADDING] * (width - len(each))] for each in targets])
        before = torch.cat([torch.full((len(drawn), 1), BEGINNING), padded[:, :-1]], dim=1)
        offers = offers_of(encoded)
        places = [[*cursors(one, each), *[0] * (width - len(each))] for one, each in zip(offers, targets, strict=True)]
        inputs = before.where(before != PADDING, self._codec.stop)
        return Batch(encoded, inputs, torch.tensor(places), padded, familiar)

    def _targets(
        self, drawn: Sequence[tuple[Sentence, Program]], encoded: Encoded, row: int, familiar: bool
    ) -> list[int]:
        sentence, program = drawn[row]
        if not familiar:
            return [self._codec.stop]
        return self._codec.targets(self._codec.derivation(program, sentence), encoded.extra[row])

    def _forget(self, *words: Tensor) -> None:
        """Replace some words by the unknown one: what is left of them are their tags and what they offer."""
        forgotten = (torch.rand(words[0].shape) < self.settings.word_dropout) & (words[0] != 0)
        for each in words:
            each[forgotten] = UNKNOWN


def scrambled(sentence: Sentence, other: Sentence, random: Random) -> Sentence:
    """Words without sense: in random order, of two questions, or unknown."""
    words = list(sentence if random.random() < 0.5 else (*sentence, *other))
    random.shuffle(words)
    if random.random() < 0.4:
        words = [_noise(random) if random.random() < 0.7 else word for word in words]
    return tuple(words[: int(random.random() * len(words)) + 1])


def _noise(random: Random) -> Word:
    text = "".join(chr(97 + int(26 * random.random())) for _ in range(3 + int(6 * random.random())))
    return Word(text, (text, text, text))


@dataclass(frozen=True)
class TranslationJob(Training):
    """The training of a parser."""

    task: Asking
    settings: TranslationSettings
    folder: Path
    model: str = "plus"
    config: TranslatorConfig = field(default_factory=TranslatorConfig)
    root: Path | None = None
    """Folder of questions of one's own."""
    seed: int = 0
    processes: int = 1
    accelerator: str = "cpu"
    start: Path | None = None
    """A checkpoint whose weights are the first ones, of the same vocabularies."""
    resume: bool = False
    wandb: bool = False
    about: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None

    @cached_property
    def corpus(self) -> Corpus:
        return corpus_of(self.task, self.root, self.settings.held_out, self.settings.fold)

    @cached_property
    def codec(self) -> Codec:
        return Codec.of(self.task.domain, self.task.lexicon(self.root), self.corpus.train)

    def build(self) -> Translator:
        network = Translator(self.config, self.codec.sizes)
        if self.start is not None and not self.resume:
            load_network(network, read_network(self.start, KIND))
        return network

    def learner(self, model: Translator, share: Share, all_reduce: AllReduce) -> Translation:
        return Translation(model, self.codec, self.corpus.train, self.task, self.settings, self.seed, share, all_reduce)

    def validate(self, model: Translator) -> Validation:
        held_out = self.corpus.held_out[:VALIDATED]
        readings = Parser(model, self.codec).read([pair.question for pair in held_out], beam=1)
        right = [
            _is_right(reading.program, pair, self.codec.domain)
            for reading, pair in zip(readings, held_out, strict=True)
        ]
        lengths = [len(pair.question.split()) for pair in held_out]
        return Validation(100 * sum(right) / max(1, len(right)), {}, _by_length(right, lengths))

    def save(self, model: Translator, training: Mapping[str, Any]) -> None:
        save_network(self.folder, KIND, model, self.record(self.threshold(model)), training)

    def threshold(self, model: Translator) -> float:
        """The confidence below which a question is not understood, chosen on held-out questions and on such whose words
        were scrambled."""
        pairs, random = self.corpus.held_out[-VALIDATED // 2 :], Random(0)
        parser = Parser(model, self.codec)
        read = [self.codec.lexicon.read(pair.question) for pair in pairs]
        senseless = [" ".join(word.text for word in scrambled(each, each, random)) for each in read]
        readings = parser.read([pair.question for pair in pairs], beam=1)
        right = [
            reading.confidence
            for reading, pair in zip(readings, pairs, strict=True)
            if _is_right(reading.program, pair, self.codec.domain)
        ]
        return chosen_threshold(right, [reading.confidence for reading in parser.read(senseless, beam=1)])

    def record(self, threshold: float) -> dict[str, Any]:
        """The configuration in a checkpoint."""
        named = {"task": self.task.task_name, "given": self.task.given or self.task.task_name}
        network = {"model": self.model, "network": asdict(self.config)}
        return {**named, **network, "real": self.root is not None, "threshold": threshold, **self.codec.as_dict()}

    def identity(self) -> dict[str, dict[str, Any]]:
        digest = self.codec.digest(self.corpus.train)
        return {"parser": asdict(self.config), "questions": {"digest": digest}, "training": {}}

    def described(self) -> dict[str, Any]:
        counts = {"questions": len(self.corpus.train), "held_out": len(self.corpus.held_out)}
        return {"task": self.task.task_name, **counts, **({"start": self.start.name} if self.start else {})}

    def check_own(self) -> None:
        self.config.check()
        if not self.corpus.train or not self.corpus.held_out:
            raise DataError(
                f"{self.task.task_name}: too few questions; some to train on and some to hold out are needed (held out "
                f"here: share {self.settings.held_out}, fold {self.settings.fold})"
            )
        if self.start is not None and not self.resume:
            self.build()


def _is_right(best: Program | None, pair: Pair, domain: Domain) -> bool:
    return best is not None and signature(best, domain) == signature(pair.program, domain)


def _by_length(right: Sequence[bool], lengths: Sequence[int]) -> dict[str, float]:
    """% right by the number of words."""
    shares = (0.25, 0.5, 0.75, 1.0)
    bounds = sorted({int(np.quantile(lengths, each, method="higher")) for each in shares}) if lengths else []
    found: dict[str, float] = {}
    low = 0
    for high in bounds:
        some = [each for each, length in zip(right, lengths, strict=True) if low < length <= high]
        found[str(high)] = 100 * sum(some) / max(1, len(some))
        low = high
    return found
