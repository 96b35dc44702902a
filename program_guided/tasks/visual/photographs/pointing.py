"""An executor over the parts of photographs: every routine points somewhere.

`plus` reads the words of routines; a routine's row of Z is that of `plus` and, behind it, scores of all parts: where it
points. What each operation does with them is fixed, how far it is trusted is learned:

    select            evidence for the name at every part
    filter            the input's scores, plus evidence for the value; minus it, for `not`
    relate            evidence for the name, plus how well each part stands in the relation to where the input points
    verify, exist     the evidence where the input points; whether it points at anything
    and, or           of the inputs' probabilities
    query, choose     evidence for every answer, and a head that reads the features, where the input points

    executor = untrained(words, len(answers), (parts, features), PictureSettings())     # `reading.py`
    results = execute(executor, evidence, programs)
    booleans, answers = executor.answer(results at the last routines, evidence, words of these)
    executor.pointed(results)                                  # (batch, routines, parts) where each routine points

Departures from the paper: it has attention and a pointing head; these learn what an operation does from a million
questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, one_hot

from program_guided.language.domain import BOOLEAN
from program_guided.models.attention import Watch
from program_guided.models.model import Model, Step, take
from program_guided.models.plus import Plus
from program_guided.tasks.visual.domain import ANSWER
from program_guided.tasks.visual.photographs.evidence import ARGUMENTS, Evidence, PartEvidence

__all__ = ["PAIRS", "Pointing", "pair_features", "placed", "sides_of"]

NAME, RELATION, SECOND_RELATION = ARGUMENTS + 1, ARGUMENTS + 2, ARGUMENTS + 3
"""Positions of a routine's name (or value), and of its relations, among its words."""
NOT, ROLE = ARGUMENTS - 1, ARGUMENTS
ROWS, COLUMNS = 6, 6
"""Numbers of bands in which the centre of a part is encoded."""
BESIDE = 0.1
"""Least difference of centres at which a part is beside another one."""
HIDDEN, DROPOUT = 48, 0.3
MAX_RELATION = 8.0
"""Bound of the score of a pair of parts."""
TINY = 1e-6
SIDES = {"to the left of": (0, -1.0), "to the right of": (0, 1.0), "left": (0, -1.0), "right": (0, 1.0)}
"""Relations that are known before training: the feature of pairs, and its weight."""
EVIDENCE, RELATED, SHARPNESS = 1.5, 1.0, 1.0
"""Initial weights of the evidence for a routine's own word, of relations, and of scores where they point."""


def placed(features: Tensor, boxes: Tensor) -> Tensor:
    """Features of parts, and where these are."""
    centre, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
    bands = [
        one_hot((centre[..., axis] * bands).long().clamp(0, bands - 1), bands)
        for axis, bands in ((0, COLUMNS), (1, ROWS))
    ]
    return torch.cat([features, *bands, centre, size], dim=-1)


def pair_features(boxes: Tensor) -> Tensor:
    """(..., parts, parts, pairs) how the first of two parts stands to the second."""
    centre, size = (boxes[..., :2] + boxes[..., 2:]) / 2, (boxes[..., 2:] - boxes[..., :2]).clamp(min=1e-3)
    area = size.prod(dim=-1)
    apart = centre[..., :, None, :] - centre[..., None, :, :]
    low = torch.maximum(boxes[..., :, None, :2], boxes[..., None, :, :2])
    high = torch.minimum(boxes[..., :, None, 2:], boxes[..., None, :, 2:])
    common = (high - low).clamp(min=0).prod(dim=-1)
    one, other = area[..., :, None], area[..., None, :]
    shares = torch.stack([2 * common / one, 2 * common / other, 3 * common / (one + other - common)], dim=-1)
    larger = ((one / other).log() / 2)[..., None]
    far = 3 * (apart.square().sum(dim=-1, keepdim=True) + TINY).sqrt()
    same = 2 * torch.eye(boxes.shape[-2]).expand(common.shape)[..., None]
    return torch.cat([3 * apart, apart.sign() * (apart.abs() > BESIDE), larger, shares, far, same], dim=-1)


PAIRS = 10
FAR, SAME = 8, 9


@final
class Pointing(Model):
    """The executor; `plus` gives the rows that say what is asked."""

    def __init__(self, plus: Plus, parts: int, features: int, answers: int) -> None:
        width = plus.width
        nn.Module.__init__(self)
        self.plus, self.parts = plus, parts
        self.sizes, self.width = plus.sizes, width + 2 * parts + 1
        vocabulary = self.sizes.vocabulary
        self._number = {word: number for number, word in enumerate(vocabulary)}
        self.relations = nn.Embedding(len(vocabulary), PAIRS)
        self.any_relation = nn.Parameter(torch.zeros(PAIRS))
        self.evidence, self.related, self.sharpness = (
            nn.Parameter(torch.tensor(value)) for value in (EVIDENCE, RELATED, SHARPNESS)
        )
        self.preferred = nn.Parameter(torch.zeros(parts))
        self.trust, self.gate, self.sameness = nn.Linear(width, 3), nn.Linear(width, HIDDEN), nn.Linear(width, 1)
        self.look, self.dropout = nn.Linear(features, HIDDEN), nn.Dropout(DROPOUT)
        self.to_answers, self.to_boolean = nn.Linear(HIDDEN, answers), nn.Linear(HIDDEN, 2)
        self.truth, self.sure, self.side = nn.Linear(4, 1), nn.Linear(width, 1), nn.Parameter(torch.tensor(1.0))
        self.recall = nn.Parameter(torch.ones(2))
        """Weights of the answer prior, for Booleans and for answers."""
        self._begin()

    def _begin(self) -> None:
        """Initial weights: evidence is trusted a little, and heads add nothing."""
        zero = (self.relations, self.to_answers, self.to_boolean, self.trust, self.sameness, self.sure, self.truth)
        for layer in zero:
            for parameter in layer.parameters():
                nn.init.zeros_(parameter)
        nn.init.ones_(self.gate.bias)
        with torch.no_grad():
            self.trust.bias.fill_(0.3)
            self.sure.bias.fill_(1.2)
            self.truth.weight[0, :2] = torch.tensor([0.5, 0.3])
            self.any_relation[FAR], self.any_relation[SAME] = -0.5, -1.0
            for word, (pair, weight) in SIDES.items():
                if word in self._number:
                    self.relations.weight[self._number[word], [pair, pair + 2]] = weight

    @property
    def local(self) -> bool:  # type: ignore[override]
        return self.plus.local

    @property
    def reader(self) -> Any:
        """That of `plus`, whose parameters are registered once."""
        return self.plus.reader

    def settings(self) -> dict[str, Any]:
        return self.plus.settings()

    def forward(self, step: Step, watch: Watch | None = None) -> Tensor:
        width, parts = self.plus.width, self.parts
        rows = self.plus(replace(step, results=step.results[..., :width]), watch)
        seen: PartEvidence | None = step.specification.parts
        if seen is None:
            return torch.cat([rows, rows.new_zeros(len(rows), 1, 1)], dim=2)
        of, words = step.specification.pictures, take(step.words, step.pointed)[:, 0]
        parents = step.parents[:, 0]
        known = take(step.results, parents)[..., width:] * (parents >= 0)[..., None]
        first = known[:, 0] if known.shape[1] else rows.new_zeros(len(rows), 2 * parts + 1)
        second = known[:, 1] if known.shape[1] > 1 else torch.zeros_like(first)
        two = (parents[:, 1] >= 0) if known.shape[1] > 1 else torch.zeros(len(rows), dtype=torch.bool)
        own = self.evidence * seen.words[of, :, seen.rows[words[:, NAME]]]
        own = torch.where(self._is(words[:, NOT], "not")[:, None], -own, own)
        scores, other = first[:, :parts], torch.where(two[:, None], second[:, :parts], first[:, :parts])
        related = self._is_family(words, "relate") | (self._is_family(words, "verify") & self._is(words[:, 1], "rel"))
        where = torch.zeros_like(scores)
        if bool(related.any()):
            (some,) = related.nonzero(as_tuple=True)
            stands = self._stands(seen, of[some], self.points(scores[some]), words[some, RELATION], words[some, ROLE])
            where = where.index_put((some,), stands)
        found = torch.where(related[:, None], own + self.related * where, scores)
        found = torch.where(self._is_family(words, "filter")[:, None], scores + own, found)
        found = torch.where(self._is_family(words, "select")[:, None], own, found)
        named = self._is_family(words, "choose") & self._is(words[:, 1], "rel")
        other = torch.where(named[:, None], own, other)
        truth = self._truth(rows[:, 0], words, (scores, own, found), related, (first[:, -1], second[:, -1]))
        return torch.cat([rows, torch.cat([found, other, truth[:, None]], dim=1)[:, None]], dim=2)

    def _truth(
        self,
        rows: Tensor,
        words: Tensor,
        scores: tuple[Tensor, Tensor, Tensor],
        related: Tensor,
        inputs: tuple[Tensor, Tensor],
    ) -> Tensor:
        """(batch,) log odds that a Boolean routine is true, by what it points at."""
        before, own, found = scores
        there, most = torch.logsumexp(found + self.preferred.log_softmax(0), dim=1), found.amax(dim=1)
        holds = torch.where(related, there, (self.points(before) * own).sum(dim=1))
        verify, exist = self._is_family(words, "verify"), self._is_family(words, "exist")
        features = torch.stack([holds * verify, there * exist, most * exist, most * related], dim=1)
        truth = self.truth(features)[:, 0] * self.sure(rows)[:, 0]
        one, other = inputs
        truth = torch.where(self._is_family(words, "and"), _both(one, other), truth)
        return torch.where(self._is_family(words, "or"), -_both(-one, -other), truth)

    def points(self, scores: Tensor) -> Tensor:
        """(..., parts) shares of attention."""
        return (scores * self.sharpness + self.preferred).softmax(dim=-1)

    def pointed(self, results: Tensor) -> Tensor:
        """(..., parts) where the rows of Z point."""
        return self.points(results[..., self.plus.width : self.plus.width + self.parts])

    def _stands(self, seen: PartEvidence, of: Tensor, attention: Tensor, relation: Tensor, role: Tensor) -> Tensor:
        """(batch, parts) how well each part stands in a relation to where attention is."""
        pairs = seen.pairs[of]
        weights = self.relations(relation) + self.any_relation
        scores = torch.bmm(pairs.flatten(1, 2), weights[..., None]).view(len(of), self.parts, self.parts)
        turned = self._is(role, "object")[:, None, None]
        scores = torch.where(turned, scores.transpose(1, 2), scores).clamp(-MAX_RELATION, MAX_RELATION)
        return torch.bmm(scores.exp(), attention[..., None])[..., 0].add(TINY).log()

    def answer(self, rows: Tensor, evidence: Evidence, words: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (batch, 2) of yes and no and (batch, answers) of answers, by the rows of Z (batch, d) and the words
        (batch, L) of the last routines; mentions are in the evidence."""
        seen, of, width, parts = evidence.parts, evidence.pictures, self.plus.width, self.parts
        asked, truth = rows[:, :width], rows[:, -1]
        answers = self.plus.decode(asked, ANSWER) + self.plus.reader.point(asked[:, None], evidence)[:, 0, :-1]
        booleans = self.plus.decode(asked, BOOLEAN)
        if seen is None:
            return booleans, answers
        one, other = (self.points(rows[:, at : at + parts]) for at in (width, width + parts))
        there = seen.answers[of]
        mean, peak = torch.bmm(one[:, None], there)[:, 0], torch.bmm(one[:, None], seen.odds[of])[:, 0].add(TINY).log()
        trust = self.trust(asked)
        answers = answers + trust[:, :1] * mean + trust[:, 1:2] * peak / 2 + trust[:, 2:] * there.mean(dim=1) / 2
        left, right = (torch.bmm(each[:, None], seen.features[of])[:, 0] for each in (one, other))
        read = self.dropout(self.look(left) * self.gate(asked))
        unlike = (left - right).square().sum(dim=1).add(1e-4).sqrt() / 3
        truth = truth + self.sameness(asked)[:, 0] * (0.5 - unlike) * (one != other).any(dim=1)
        booleans = booleans + self.to_boolean(read) + torch.stack([truth, -truth], dim=1) / 2
        return booleans, self._with_sides(answers + self.to_answers(read), seen, of, words, (one, other))

    def _with_sides(
        self, answers: Tensor, seen: PartEvidence, pictures: Tensor, words: Tensor, points: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Scores with those of the two relations that a routine chooses from."""
        (rows,) = (self._is_family(words, "choose") & self._is(words[:, 1], "rel")).nonzero(as_tuple=True)
        if not len(rows):
            return answers
        chosen, of, (one, other) = words[rows], pictures[rows], points
        for column in (RELATION, SECOND_RELATION):
            stands = self._stands(seen, of, one[rows], chosen[:, column], chosen[:, ROLE])
            answer = seen.sides[chosen[:, column]]
            score = self.side * (other[rows] * stands).sum(dim=1) * (answer >= 0)
            answers = answers.index_put((rows, answer.clamp(min=0)), score, accumulate=True)
        return answers

    def _is(self, words: Tensor, word: str) -> Tensor:
        return words == self._number.get(word, -1)

    def _is_family(self, words: Tensor, family: str) -> Tensor:
        return self._is(words[:, 0], family)


def _both(one: Tensor, other: Tensor) -> Tensor:
    """Log odds that two independent things are true, by the log odds of each."""
    both = logsigmoid(one) + logsigmoid(other)
    return both - torch.log1p(-both.exp().clamp(max=1 - 1e-5))


def sides_of(words: Sequence[str], answers: Sequence[str]) -> Tensor:
    """(vocabulary,) the number of the answer that a relation is (`to the left of`: left), -1 for none."""
    numbers = {answer: number for number, answer in enumerate(answers)}
    short = [word.removeprefix("to the ").removesuffix(" of") for word in words]
    return torch.tensor([numbers.get(each, numbers.get(word, -1)) for each, word in zip(short, words, strict=True)])
