"""Questions of the embedded world: drawn from templates, answered by the oracle, balanced, with what they entail.

Departures from the paper: it has no such world. A question is kept only if its words do not give the answer away and
if its answer is not ahead of the others among the questions kept so far that look like it; so a learner that does not
see the picture has nothing to go by.

    asked = make_questions([sample_scene(7)], seed=0)
    asked[0].program, asked[0].answer, asked[0].entailed
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from program_guided.language.domain import BOOLEAN
from program_guided.language.sampler import pick
from program_guided.language.syntax import Call, Program, calls
from program_guided.tasks.visual.concepts import RELATION_ANSWERS, kinds
from program_guided.tasks.visual.domain import COMPARATIVES, OBJECTS, ROWS
from program_guided.tasks.visual.entailment import entailed_programs
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.oracle import COMMON, PLACED, Result, answer_of, execute
from program_guided.tasks.visual.references import Asker
from program_guided.tasks.visual.templates import ABOUT_SCENE, TEMPLATES, ask
from program_guided.tasks.visual.vocabulary import NAMES, WORLD_VALUES

__all__ = ["PER_SCENE", "Asked", "Questioner", "make_questions", "possible_answers"]

PER_SCENE = 10
TEMPLATES_PER_QUESTION = 4
TRIES_PER_TEMPLATE = 12
FOUR = 0.3
"""How often four things are asked at once: such programs branch, and have something to carry out in parallel."""
SLACK = {"program": 0, "pair": 1, "last": 1, "operations": 1, "logic": 1, "word": 2}
"""How far an answer may be ahead of the others, by what two questions have in common."""


@dataclass(frozen=True)
class Asked:
    """A question about a scene."""

    key: str
    image_id: str
    template: str
    program: Program
    results: tuple[Result, ...]
    answer: str
    entailed: tuple[str, ...] = ()
    balanced: bool = True


class Questioner:
    """Asks about one scene after another, and keeps the whole balanced."""

    def __init__(self, seed: int, per_scene: int = PER_SCENE) -> None:
        self._random = Random(seed)
        self._per_scene = per_scene
        self._balance = _Balance()

    def about(self, scene: Scene) -> list[Asked]:
        """Balanced questions about a scene, followed by those that they entail (which are not balanced)."""
        made: dict[Program, Asked] = {}
        asker = Asker(scene, self._random)
        for _ in range(self._per_scene * TEMPLATES_PER_QUESTION):
            if len(made) == self._per_scene:
                break
            four = self._random.random() < FOUR
            self._ask("logicalFour" if four else pick(self._random, tuple(TEMPLATES)), asker, made)
        return _with_entailed(scene, made)

    def _ask(self, template: str, asker: Asker, made: dict[Program, Asked]) -> None:
        """One more question of a template, if it can be had."""
        scene = asker.scene
        for _ in range(TRIES_PER_TEMPLATE):
            program = ask(template, asker)
            if program is None or program in made:
                continue
            results = execute(program, scene)
            answer = answer_of(results)
            if answer is None or not _well_posed(program, results) or _told(program, answer):
                continue
            if self._balance.accepts(program, answer):
                key = f"{scene.image_id}{len(made):03d}"
                made[program] = Asked(key, scene.image_id, template, program, results, answer)
                return


def make_questions(scenes: Sequence[Scene], seed: int, per_scene: int = PER_SCENE) -> list[Asked]:
    """Questions about scenes, all in one list."""
    questioner = Questioner(seed, per_scene)
    return [asked for scene in scenes for asked in questioner.about(scene)]


def possible_answers(program: Program) -> tuple[str, ...]:
    """Every answer that a program could have in this world."""
    steps = tuple(calls(program.body))
    call, row = steps[-1], ROWS[steps[-1].operation]
    if row.operation.output == BOOLEAN:
        return ("yes", "no")
    if row.family == "common":
        return COMMON
    if row.category in COMPARATIVES:
        return tuple(sorted({name for number in call.inputs for name in _possible_names(steps, number)}))
    if row.family == "choose":
        words = [str(word) for word in call.words]
        return tuple(RELATION_ANSWERS.get(word, word) for word in (words[1:3] if row.category == "rel" else words))
    return _possible_values(steps, str(call.words[0]))


def _possible_values(steps: Sequence[Call], category: str) -> tuple[str, ...]:
    if category == "name":
        return _possible_names(steps, steps[-1].inputs[0])
    return ABOUT_SCENE.get(category) or WORLD_VALUES.get(category) or PLACED[category][1]


def _possible_names(steps: Sequence[Call], at: int) -> tuple[str, ...]:
    """Names that an Objects routine can give."""
    call = steps[at]
    if ROWS[call.operation].family == "filter":
        return _possible_names(steps, call.inputs[0])
    name = str(call.words[0])
    return tuple(each for each in NAMES if name == "_" or each in kinds(name))


def _with_entailed(scene: Scene, made: dict[Program, Asked]) -> list[Asked]:
    every = dict(made)
    for asked in made.values():
        keys = [asked.key]
        for program in entailed_programs(asked.program, asked.answer):
            results = execute(program, scene)
            answer = answer_of(results)
            if answer is None:
                continue
            key = f"{scene.image_id}{len(every):03d}"
            derived = Asked(key, scene.image_id, "entailed", program, results, answer, (key,), balanced=False)
            keys.append(every.setdefault(program, derived).key)
        every[asked.program] = replace(asked, entailed=tuple(dict.fromkeys(keys)))
    return list(every.values())


def _well_posed(program: Program, results: Sequence[Result]) -> bool:
    """Whether `the` means one thing, and `every` more than one."""
    for call in calls(program.body):
        row = ROWS[call.operation]
        if row.operation.output == OBJECTS or row.family == "exist":
            continue
        sizes = [len(value) for number in call.inputs if isinstance(value := results[number].value, tuple)]
        every = row.family in ("same", "different") and not row.category
        if any(size < 2 if every else size != 1 for size in sizes):
            return False
    objects = [results[number].value for number in tuple(calls(program.body))[-1].inputs]
    return len(objects) < 2 or objects[0] != objects[1] or isinstance(objects[0], bool)


def _told(program: Program, answer: str) -> bool:
    """Whether the words of a question give its answer away."""
    steps = tuple(calls(program.body))
    row = ROWS[steps[-1].operation]
    spoken = {str(word) for call in steps for word in call.words}
    if answer in spoken and (row.family == "query" or row.category in COMPARATIVES):
        return True
    return _comparison_told(steps, row.category) or any(_repeats(steps, at) for at in range(len(steps)))


MEASURED_BY = {
    **dict.fromkeys(("larger", "smaller"), ("size", "height", "length")),
    **dict.fromkeys(("taller", "shorter"), ("size", "height")),
    "longer": ("size", "length"),
    **dict.fromkeys(("higher", "lower"), ("vposition", "relate")),
    **dict.fromkeys(("older", "younger"), ("age",)),
}
"""What must not be said of things that are compared."""


def _comparison_told(steps: Sequence[Call], word: str) -> bool:
    said = [ROWS[steps[at].operation] for at in _before(steps, len(steps) - 1)]
    return any(told in (row.category, row.family) for row in said for told in MEASURED_BY.get(word, ()))


def _repeats(steps: Sequence[Call], at: int) -> bool:
    """Whether a routine asks what one before it has said: the same category, or a relation to the same name."""
    call, row = steps[at], ROWS[steps[at].operation]
    before = [steps[number] for number in _before(steps, at)]
    said = {ROWS[each.operation].category for each in before if ROWS[each.operation].family == "filter"}
    if row.family == "common":
        return bool(said & set(COMMON))
    asked = str(call.words[0]) if row.family == "query" or (row.family, row.category) == ("same", "") else row.category
    if row.operation.output != OBJECTS and row.family not in ("exist", "and", "or") and asked in said:
        return True
    related = row.family == "relate" or row.category == "rel"
    return related and any(str(call.words[0]) in map(str, each.words) for each in before)


def _before(steps: Sequence[Call], at: int) -> Iterator[int]:
    """Routines that a routine depends on."""
    for number in steps[at].inputs:
        yield number
        yield from _before(steps, number)


class _Balance:
    """Answers given so far to questions that look alike, in several ways of looking."""

    def __init__(self) -> None:
        self._given: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def accepts(self, program: Program, answer: str) -> bool:
        """Whether one more question with this answer keeps all ways of looking balanced; if so, it is counted."""
        others = [other for other in possible_answers(program) if other != answer]
        views = list(_views(program, binary=answer in ("yes", "no")))
        if not all(self._fair(view, answer, others) for view in views):
            return False
        for view in views:
            self._given[view][answer] += 1
        return True

    def _fair(self, view: tuple[str, ...], answer: str, others: Sequence[str]) -> bool:
        given = self._given[view]
        mean = sum(given[other] for other in others) / max(1, len(others))
        return given[answer] <= mean + SLACK[view[0]]


def _views(program: Program, binary: bool) -> Iterator[tuple[str, ...]]:
    steps = tuple(calls(program.body))
    texts = [" ".join([call.operation, *map(str, call.words), *map(str, call.inputs)]) for call in steps]
    operations = tuple(call.operation for call in steps)
    words = tuple(map(str, steps[-1].words))
    yield ("program", *texts)
    yield ("last", operations[-1], *words)
    yield ("operations", *operations, *words)
    if operations[-1] in ("and", "or"):
        yield ("logic", *(name for name in operations if name in ("and", "or")))
    if binary:
        yield ("pair", *texts[-2:])
        for call in steps:
            for word in call.words:
                yield ("word", operations[-1], call.operation, str(word))
