"""Questions of the embedded world: drawn from templates, answered by the oracle, balanced, with entailed questions.

Departures from the paper: it has no such world. A question is kept only if its words do not leak the answer and if its
answer is not more frequent than the other possible ones among similar questions kept so far, so that a model without
the picture cannot exceed chance.

    questions = make_questions([sample_scene(7)], seed=0)
    questions[0].program, questions[0].answer, questions[0].entailed
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from program_guided.language.domain import BOOLEAN
from program_guided.language.sampler import pick
from program_guided.language.syntax import Call, Program, flatten
from program_guided.tasks.visual.concepts import RELATION_ANSWERS
from program_guided.tasks.visual.domain import COMPARATIVES, OBJECTS, ROWS
from program_guided.tasks.visual.embedded.entailment import entailed_programs
from program_guided.tasks.visual.embedded.references import SceneSampler
from program_guided.tasks.visual.embedded.templates import ABOUT_SCENE, TEMPLATES, sample_program
from program_guided.tasks.visual.embedded.vocabulary import NAMES, WORLD_VALUES
from program_guided.tasks.visual.graph import Scene
from program_guided.tasks.visual.ontology import BUILT_IN
from program_guided.tasks.visual.oracle import COMMON, PLACED, Result, answer_of, execute

__all__ = ["PER_SCENE", "Asked", "Questioner", "make_questions", "possible_answers"]

PER_SCENE = 10
TEMPLATES_PER_QUESTION = 4
TRIES_PER_TEMPLATE = 12
FOUR_OPERANDS = 0.3
"""Probability of a question with four operands, whose program has branches that can be executed in parallel."""
SLACK = {"program": 0, "pair": 1, "last": 1, "operations": 1, "logic": 1, "word": 2}
"""Similarity of questions -> maximum lead of an answer's count over the mean count of the others."""


@dataclass(frozen=True)
class Asked:
    """A generated question about a scene, with the oracle's results."""

    key: str
    image_id: str
    template: str
    program: Program
    results: tuple[Result, ...]
    answer: str
    entailed: tuple[str, ...] = ()
    balanced: bool = True


class Questioner:
    """Generates questions about one scene after another, balanced over all of them."""

    def __init__(self, seed: int, per_scene: int = PER_SCENE) -> None:
        self._random = Random(seed)
        self._per_scene = per_scene
        self._balance = _Balance()

    def about(self, scene: Scene) -> list[Asked]:
        """Balanced questions about a scene, followed by the entailed ones, which are not balanced."""
        made: dict[Program, Asked] = {}
        sampler = SceneSampler(scene, self._random)
        for _ in range(self._per_scene * TEMPLATES_PER_QUESTION):
            if len(made) == self._per_scene:
                break
            four = self._random.random() < FOUR_OPERANDS
            self._add("logicalFour" if four else pick(self._random, tuple(TEMPLATES)), sampler, made)
        return _with_entailed(scene, made)

    def _add(self, template: str, sampler: SceneSampler, made: dict[Program, Asked]) -> None:
        """Add a question of a template, if one is accepted within the tries."""
        scene = sampler.scene
        for _ in range(TRIES_PER_TEMPLATE):
            program = sample_program(template, sampler)
            if program is None or program in made:
                continue
            results = execute(program, scene)
            answer = answer_of(results)
            if answer is None or not _well_posed(program, results) or _leaks(program, answer):
                continue
            if self._balance.accepts(program, answer):
                key = f"{scene.image_id}{len(made):03d}"
                made[program] = Asked(key, scene.image_id, template, program, results, answer)
                return


def make_questions(scenes: Sequence[Scene], seed: int, per_scene: int = PER_SCENE) -> list[Asked]:
    """Questions about all scenes, in one list."""
    generator = Questioner(seed, per_scene)
    return [question for scene in scenes for question in generator.about(scene)]


def possible_answers(program: Program) -> tuple[str, ...]:
    """Answers that a program can have in this world."""
    steps = flatten(program.body)
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
    return ABOUT_SCENE.get(category) or WORLD_VALUES.get(category) or PLACED[category].words


def _possible_names(steps: Sequence[Call], at: int) -> tuple[str, ...]:
    """Names of the objects that can be in the result of an Objects routine."""
    call = steps[at]
    if ROWS[call.operation].family == "filter":
        return _possible_names(steps, call.inputs[0])
    name = str(call.words[0])
    return tuple(each for each in NAMES if name == "_" or each in BUILT_IN.kinds(name))


def _with_entailed(scene: Scene, made: dict[Program, Asked]) -> list[Asked]:
    every = dict(made)
    for question in made.values():
        keys = [question.key]
        for program in entailed_programs(question.program, question.answer):
            results = execute(program, scene)
            answer = answer_of(results)
            if answer is None:
                continue
            key = f"{scene.image_id}{len(every):03d}"
            entailed = Asked(key, scene.image_id, "entailed", program, results, answer, (key,), balanced=False)
            keys.append(every.setdefault(program, entailed).key)
        every[question.program] = replace(question, entailed=tuple(dict.fromkeys(keys)))
    return list(every.values())


def _well_posed(program: Program, results: Sequence[Result]) -> bool:
    """True if every `the` refers to one object and every `every` to several."""
    for call in flatten(program.body):
        row = ROWS[call.operation]
        if row.operation.output == OBJECTS or row.family == "exist":
            continue
        sizes = [len(value) for number in call.inputs if isinstance(value := results[number].value, tuple)]
        every = row.family in ("same", "different") and not row.category
        if any(size < 2 if every else size != 1 for size in sizes):
            return False
    objects = [results[number].value for number in flatten(program.body)[-1].inputs]
    return len(objects) < 2 or objects[0] != objects[1] or isinstance(objects[0], bool)


def _leaks(program: Program, answer: str) -> bool:
    """True if the words of a question reveal its answer."""
    steps = flatten(program.body)
    row = ROWS[steps[-1].operation]
    words = {str(word) for call in steps for word in call.words}
    if answer in words and (row.family == "query" or row.category in COMPARATIVES):
        return True
    return _leaks_comparison(steps, row.category) or any(_repeats(steps, at) for at in range(len(steps)))


COMPARISON_LEAKS = {
    **dict.fromkeys(("larger", "smaller"), ("size", "height", "length")),
    **dict.fromkeys(("taller", "shorter"), ("size", "height")),
    "longer": ("size", "length"),
    **dict.fromkeys(("higher", "lower"), ("vposition", "relate")),
    **dict.fromkeys(("older", "younger"), ("age",)),
}
"""Comparative -> categories and families that must not describe the compared objects."""


def _leaks_comparison(steps: Sequence[Call], comparative: str) -> bool:
    rows = [ROWS[steps[at].operation] for at in _ancestors(steps, len(steps) - 1)]
    leaks = COMPARISON_LEAKS.get(comparative, ())
    return any(leak in (row.category, row.family) for row in rows for leak in leaks)


def _repeats(steps: Sequence[Call], at: int) -> bool:
    """True if a routine repeats an ancestor: the category of a filter, or a name in a relation."""
    call, row = steps[at], ROWS[steps[at].operation]
    ancestors = [steps[number] for number in _ancestors(steps, at)]
    filtered = {ROWS[each.operation].category for each in ancestors if ROWS[each.operation].family == "filter"}
    if row.family == "common":
        return bool(filtered & set(COMMON))
    category_is_word = row.family == "query" or (row.family, row.category) == ("same", "")
    category = str(call.words[0]) if category_is_word else row.category
    if row.operation.output != OBJECTS and row.family not in ("exist", "and", "or") and category in filtered:
        return True
    related = row.family == "relate" or row.category == "rel"
    return related and any(str(call.words[0]) in map(str, each.words) for each in ancestors)


def _ancestors(steps: Sequence[Call], at: int) -> Iterator[int]:
    """Numbers of the routines that a routine depends on."""
    for number in steps[at].inputs:
        yield number
        yield from _ancestors(steps, number)


class _Balance:
    """Counts of the answers to similar questions so far, by several definitions of similarity."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)

    def accepts(self, program: Program, answer: str) -> bool:
        """True if one more question with this answer keeps all counts balanced; it is then counted."""
        others = [other for other in possible_answers(program) if other != answer]
        views = list(_views(program, binary=answer in ("yes", "no")))
        if not all(self._fair(view, answer, others) for view in views):
            return False
        for view in views:
            self._counts[view][answer] += 1
        return True

    def _fair(self, view: tuple[str, ...], answer: str, others: Sequence[str]) -> bool:
        counts = self._counts[view]
        mean = sum(counts[other] for other in others) / max(1, len(others))
        return counts[answer] <= mean + SLACK[view[0]]


def _views(program: Program, binary: bool) -> Iterator[tuple[str, ...]]:
    steps = flatten(program.body)
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
