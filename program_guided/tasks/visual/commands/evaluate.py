"""`proto evaluate` for the visual task: the release's measures of checkpoints and of the oracle, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal

from program_guided.errors import DataError
from program_guided.files import check_writable, read_json, renamed
from program_guided.language.domain import unknown
from program_guided.language.vocabulary import Vocabulary
from program_guided.output import Flag, OptionalPath, counted, print_table, progress_bars, report
from program_guided.registry import model_config
from program_guided.tasks.visual.commands.run import check_png
from program_guided.tasks.visual.domain import results_of
from program_guided.tasks.visual.release.skipping import Skipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    from program_guided.tasks.visual.batches import Questions
    from program_guided.tasks.visual.data import VisualData
    from program_guided.tasks.visual.evaluation import Answers, Asked
    from program_guided.tasks.visual.reasoner import Reasoner
    from program_guided.tasks.visual.release.reading import Question
    from program_guided.tasks.visual.task import Visual

    Answering = Callable[[Questions, NDArray[np.int64], Callable[[int], None]], Answers]
    """Answers the questions of some numbers; the last argument is called with the number answered so far."""

Only = Literal["any", "right", "wrong"]
"""Questions that are drawn."""

__all__ = ["MEASURES", "Evaluate", "means"]

PAPER = {
    "full model": 64.47,
    "no structure guidance": 55.16,
    "no semantic guidance": 33.82,
    "partial supervision": 60.28,
    "symbolic": 29.57,
}
"""Accuracies of the paper's ablation table (symbolic: NS-VQA), on the validation split of GQA: other data than the
embedded world."""
ABLATIONS = {"structure": "no structure guidance", "semantics": "no semantic guidance"}
MEASURES = ("accuracy", "binary", "open", "consistency", "plausibility", "validity", "distribution")
BREAKDOWN = ("structural", "semantic", "steps", "routines")
PICTURES = "pictures"
"""Right answers and questions of every picture, in the order of their ids."""
NOT_SCORED: dict[str, Any] = {"questions": 0, **dict.fromkeys(MEASURES), **{name: {} for name in BREAKDOWN}}
"""Scores of a set without balanced questions."""
NO_ANSWER = ""
"""Prediction for a question that was skipped, or that the oracle cannot answer."""
ELSEWHERE = "elsewhere"
"""% of the questions about other pictures that are answered as by the oracle, among those that it can answer."""
ORACLE = "oracle"
"""Executes programs on scene graphs instead of pictures."""
SYMBOLIC: dict[str, Literal["strict", "majority", "repair"]] = {
    "symbolic": "strict",
    "symbolic-majority": "majority",
    "symbolic-repair": "repair",
}
"""Agents that execute programs on the detector's most likely labels -> what they do where a routine finds nothing."""
BUILT_IN = (ORACLE, *SYMBOLIC)
SAVED = ".json"
"""Suffix of files that --save wrote; their figures are shown with those measured now."""


@dataclass(frozen=True)
class Evaluate:
    """Measure answers to questions about pictures, by the release's measures. Agents are checkpoints; oracle, which
    executes programs on scene graphs; symbolic, symbolic-majority and symbolic-repair, which execute them on the
    detector's most likely labels; and files that --save wrote (FILE.json, or AGENT@FILE.json for one agent of it)."""

    split: tuple[str, ...] = ("test",)
    """Splits to measure on, such as test or val. For test alone, if the embedded world is missing, only its test split
    is built, in out/visual-test."""
    programs: Literal["true", "predicted"] = "true"
    """predicted: answer with the programs that a parser makes of the questions, beside the true ones."""
    parser: Path = Path("visual-parser")
    """The parser that predicts programs: a folder that 'proto train parser' wrote, or a shipped one by name."""
    shuffled: Flag = False
    """Show each question another picture than its own, to measure how much is answered without seeing."""
    breakdown: Flag = False
    """Show accuracy by type of question and by steps of reasoning, and the accuracy of routines by family."""
    json: Flag = False
    """Print the figures as JSON."""
    save: OptionalPath = None
    """Also write the figures to this file."""
    sheet: OptionalPath = None
    """Draw the first checkpoint's results for some questions to this PNG file."""
    shown: int = 6
    """Number of questions that are drawn."""
    only: Only = "any"
    """Draw any questions, or only those that the first checkpoint answers right, or wrong."""
    images: OptionalPath = None
    """Folder of pictures to draw on; by default scenes are drawn from their graphs, or detected boxes if there are
    none."""
    predictions: OptionalPath = None
    """Also write the answers to this file, in the format of the release's evaluation server; of one agent and one
    split, which need not have answers."""
    skip_bad: Flag = False
    """Skip, count and list pictures and questions that lack features, programs, answers or choices, instead of stopping
    at the first."""

    def run(self, task: Visual, agents: Sequence[str]) -> int:
        names = [name for name in agents if not name.endswith(SAVED)]
        self._check(names)
        found = {name: _saved(name, self.split) if name.endswith(SAVED) else {} for name in agents}
        reasoners = {name: None if name in BUILT_IN else _loaded(name, task) for name in names}
        data, skipped = self._data(task), Skipped()
        sets = {split: self._ask(data, split, reasoners, skipped) for split in self.split if names}
        drawn = self._drawn(reasoners[names[0]], data, sets[self.split[0]], skipped) if self.sheet is not None else []
        for name, reasoner in reasoners.items():
            if all(asked.programs for asked in sets.values()):
                found[name] = {name: self._measured(name, reasoner, data, sets)}
            if self.programs == "predicted" and reasoner is not None:
                found[name][f"{name} and {self.parser.name}"] = self._measured(name, reasoner, data, sets, self.parser)
        measured = _together(found)
        _check_comparable(measured)
        figures: dict[str, Any] = {"task": "visual", "agents": measured, "means": means(measured)}
        if self.skip_bad:
            figures["skipped"] = skipped.as_dict()
        if self.sheet is not None:
            self._draw(reasoners[names[0]], data, drawn)
        report(figures, self.save, self.json, self._print)
        if not self.json:
            self._print_written(data, sets, skipped)
        return 0

    def _check(self, names: Sequence[str]) -> None:
        """Raise `DataError` for options that exclude each other."""
        if not self.split or self.shown < 1:
            splits = " ".join(self.split) or "none"
            raise DataError(f"split {splits}, shown {self.shown}: name at least one split, and one question to show")
        if self.predictions is not None and (len(names) != 1 or len(self.split) != 1):
            given = f"{', '.join(names) or 'none'} on {', '.join(self.split)}"
            raise DataError(f"predictions are of one agent on one split, not of {given}; name one of each")
        if self.programs == "predicted" and self.shuffled:
            raise DataError("predicted programs are for the questions' own pictures; leave one of both out")
        if self.images is not None and not self.images.is_dir():
            raise DataError(f"{self.images}: there is no such folder of pictures")
        for path in (self.save, self.predictions):
            if path is not None:
                check_writable(path)
        untrained = [name for name in names if name in BUILT_IN]
        if self.shuffled and untrained:
            raise DataError(
                f"shuffled: name checkpoints, not {untrained[0]}, which would execute programs on other scenes"
            )
        if self.sheet is None and self.only != "any":
            raise DataError(f"only {self.only}: it chooses the questions of a sheet; name a sheet")
        if self.sheet is None and self.images is not None:
            raise DataError(f"images {self.images}: they are what a sheet is drawn on; name a sheet")
        if self.sheet is not None:
            check_png(self.sheet)
            if not names or names[0] in BUILT_IN:
                raise DataError(
                    "sheet draws the results of the first agent, which must be a checkpoint: name one first"
                )

    def _data(self, task: Visual) -> VisualData:
        from program_guided.tasks.visual.data import VisualData
        from program_guided.tasks.visual.embedded.folders import ready_world

        return VisualData(task.data or ready_world(only_test=self.split == ("test",)), task.features)

    def _ask(self, data: VisualData, split: str, reasoners: Mapping[str, Reasoner | None], skipped: Skipped) -> Asked:
        """The questions of a split that all agents answer."""
        from program_guided.tasks.visual.embedded.vectors import SIZE
        from program_guided.tasks.visual.evaluation import select_questions

        learned = [reasoner for reasoner in reasoners.values() if reasoner is not None]
        name, every = _sets(data, split)
        seen = bool(reasoners.keys() - {ORACLE})
        predicted = self.programs == "predicted"
        needs_graphs, skip = ORACLE in reasoners, skipped if self.skip_bad else None
        asked = select_questions(data, name, every, seen, needs_graphs, skip, predicted)
        if reasoners.keys() & SYMBOLIC.keys() and data.feature_count != SIZE:
            raise DataError(
                f"{data.features.info_path}: its vectors have {data.feature_count:,} numbers, but symbolic execution "
                f"reads the {SIZE:,} probabilities of the embedded world's detector; give its features, or name "
                "checkpoints"
            )
        for reasoner in learned:
            first = data.index.questions(name).question(int(asked.numbers[0])).image_id
            reasoner.check_features(data.features.read(first, 1), str(data.features.info_path))
        if not (asked.answered and asked.questions) and self.sheet is None and self.predictions is None:
            lacking = "balanced questions" if asked.answered else "answers"
            raise DataError(f"{data.index.folder}: {asked.name} has no {lacking} to measure with; write predictions")
        return asked

    def _measured(
        self,
        name: str,
        reasoner: Reasoner | None,
        data: VisualData,
        sets: Mapping[str, Asked],
        parser: Path | None = None,
    ) -> dict[str, Any]:
        """The training of an agent, and its measures on every split, with the programs of a parser if it is given."""
        from program_guided.tasks.commands import training_of
        from program_guided.tasks.visual.release.reading import write_predictions

        training = training_of(reasoner.checkpoint, reasoner.model) if reasoner else {}
        answer = _answering(name, reasoner, self.shuffled, parser)
        found = {}
        with progress_bars() as progress:
            for split, asked in sets.items():
                bar = progress.add_task(f"{name} on {split}")
                show = partial(progress.update, bar)
                found[split], answers = _scores(answer, reasoner, data, asked, self.skip_bad, show, parser is None)
                if self.predictions is not None:
                    questions = data.index.questions(asked.name)
                    keys = map(questions.key, range(len(questions)))
                    write_predictions(self.predictions, {key: answers.get(key, NO_ANSWER) for key in keys})
        how = {"shuffled": True} if self.shuffled else {}
        return {"training": training, **how, **({"parser": parser.name} if parser else {}), "splits": found}

    def _drawn(
        self, reasoner: Reasoner | None, data: VisualData, asked: Asked, skipped: Skipped
    ) -> list[tuple[Question, Image.Image | None]]:
        """The questions of a set that are drawn, with their photographs."""
        import numpy as np

        if self.only == "any":
            spaced = np.linspace(0, len(asked.numbers) - 1, min(self.shown, len(asked.numbers))).round().astype(int)
            numbers = asked.numbers[spaced].tolist()
        else:
            assert reasoner is not None
            numbers = self._judged(reasoner, data, asked)
        questions = map(data.index.questions(asked.name).question, numbers)
        return [(question, self._photograph(question, skipped)) for question in questions]

    def _judged(self, reasoner: Reasoner, data: VisualData, asked: Asked) -> list[int]:
        """Questions from all over a set that the checkpoint answers right, or wrong."""
        import numpy as np

        from program_guided.tasks.visual.evaluation import BATCH, answer_questions

        source, found = _questions(reasoner, data, asked.name), list[int]()
        mixed = np.random.default_rng(0).permutation(asked.numbers)
        for first in range(0, len(mixed), BATCH):
            some = mixed[first : first + BATCH]
            predictions = answer_questions(reasoner.model, source, some).predictions
            for number in some.tolist():
                question = source.set.question(number)
                right = predictions[question.key] == question.answer
                if question.answer is not None and right == (self.only == "right"):
                    found.append(number)
            if len(found) >= self.shown:
                break
        if not found:
            raise DataError(f"only {self.only}: there is no question of {asked.name} with such an answer; draw any")
        return sorted(found[: self.shown])

    def _photograph(self, question: Question, skipped: Skipped) -> Image.Image | None:
        from program_guided.tasks.visual.photographs.files import picture_path, read_picture

        if self.images is None:
            return None
        try:
            return read_picture(picture_path(self.images, question.image_id))
        except DataError as error:
            if not self.skip_bad:
                raise
            skipped.add(error)
            return None

    def _draw(
        self, reasoner: Reasoner | None, data: VisualData, drawn: Sequence[tuple[Question, Image.Image | None]]
    ) -> None:
        """Draw the results for some questions."""
        from program_guided.tasks.visual.drawing.figure import contact_sheet

        assert self.sheet is not None
        assert reasoner is not None
        pictures, known = [], frozenset(data.index.scene_ids)
        for question, photograph in drawn:
            scene = data.index.scene(question.image_id) if question.image_id in known else None
            detected = data.features.read(question.image_id)
            reasoning = reasoner.reason(question.program, scene, detected, photograph, data.ontology)
            wrong = question.answer not in (None, reasoning.answer)
            answer = f"{reasoning.answer} (right: {question.answer})" if wrong else reasoning.answer
            pictures.append(reasoning.card(f"{question.text}  {answer}"))
        with renamed(self.sheet) as temporary:
            contact_sheet(pictures).save(temporary, "PNG")

    def _print_written(self, data: VisualData, sets: Mapping[str, Asked], skipped: Skipped) -> None:
        """Print what was skipped, and the files that were written."""
        for line in skipped.lines():
            print(line)
        if self.sheet is not None:
            print("wrote", self.sheet)
        if self.predictions is not None:
            asked = sets[self.split[0]]
            total = len(data.index.questions(asked.name))
            without = total - len(asked.numbers)
            empty = f", empty for {counted(without, 'skipped question')}" if without else ""
            print(f"wrote {self.predictions}: {counted(total, 'prediction')}{empty}")

    def _print(self, figures: Mapping[str, Any]) -> None:
        for split in dict.fromkeys(each["split"] for each in figures["means"]):
            rows = [each for each in figures["means"] if each["split"] == split]
            _print_means(rows, split)
            _print_intervals(rows)
            if any(each["accuracy"] is None for each in figures["means"] if each["split"] == split):
                print(f"{split} has no answers, or no balanced questions: its accuracy is not reported")
        print(
            "±: standard error over seeds; cons., plau., val., dist.: consistency, plausibility, validity, distribution"
        )
        print("(lower is better); other: questions about other pictures, answered as by the oracle")
        if self.breakdown:
            for key in BREAKDOWN:
                _print_breakdown(figures["agents"], key)


def _loaded(name: str, task: Visual) -> Reasoner:
    from program_guided.tasks.executor import load_executor

    reasoner: Reasoner = load_executor(name, task)
    return reasoner


def _together(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of all agents: of those that are measured now, not their saved ones."""
    measured: dict[str, Any] = {}
    for given, agents in found.items():
        for name in agents:
            if name in measured and name not in found:
                raise DataError(f"{given}: another file has figures of {name} too; name agents of it as AGENT@{given}")
            measured[name] = found.get(name, agents)[name]
    return measured


def _saved(name: str, splits: Sequence[str]) -> dict[str, Any]:
    """Figures of all agents of a FILE, or of AGENT@FILE, each with the command that measured it."""
    only, _, file = name.rpartition("@")
    path = Path(file)
    figures = read_json(path)
    if not isinstance(figures, dict) or figures.get("task") != "visual" or not _are_figures(figures.get("agents")):
        raise DataError(f"{path}: is no file that 'proto evaluate --task visual --save' wrote; name such a file")
    agents = figures["agents"]
    if only and only not in agents:
        raise DataError(f"{path}: {unknown('agent', only, agents)}")
    for agent, found in agents.items():
        if set(found["splits"]) != set(splits):
            raise DataError(f"{path}: {agent} was measured on {', '.join(found['splits'])}, not {', '.join(splits)}")
    measured = {key: figures.get(key) for key in ("command", "commit")}
    return {agent: {"measured": measured} | found for agent, found in agents.items() if only in ("", agent)}


def _are_figures(agents: Any) -> bool:
    """True for the training and the measures of agents, as `_measured` returns them."""
    try:
        for agent in agents.values():
            _kind("", agent)
            _recipe(agent["training"])
            for scores in agent["splits"].values():
                shares = [share for part in BREAKDOWN for share in scores[part].values()]
                measures = [scores.get(name) for name in (*MEASURES, ELSEWHERE)]
                if not all(each is None or type(each) in (int, float) for each in (*shares, *measures)):
                    return False
                if type(scores["questions"]) is not int or "accuracy" not in scores:
                    return False
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, DataError):
        return False
    return bool(agents)


def _check_comparable(agents: Mapping[str, Any]) -> None:
    """Raise `DataError` if agents were measured on different numbers of questions."""
    (first, known), *others = agents.items()
    for name, agent in others:
        for split, scores in agent["splits"].items():
            if scores["questions"] != known["splits"][split]["questions"]:
                raise DataError(
                    f"{name} was measured on {scores['questions']:,} questions of {split}, "
                    f"{first} {known['splits'][split]['questions']:,}: measure both on the same data"
                )


def _sets(data: VisualData, split: str) -> tuple[str, str]:
    """(the set that is measured, the set with the entailed questions)."""
    measured = data.first_of((f"{split}_balanced", split, f"{split}_all"))
    return measured, f"{split}_all" if f"{split}_all" in data.index.sets else measured


def _answering(name: str, reasoner: Reasoner | None, shuffled: bool, parser: Path | None) -> Answering:
    """The function that answers questions for an agent."""
    from program_guided.tasks.parser import load_parser
    from program_guided.tasks.visual.evaluation import (
        answer_questions,
        oracle_answers,
        predicted_answers,
        symbolic_answers,
    )

    if parser is not None:
        assert reasoner is not None
        return partial(predicted_answers, reasoner.model, load_parser(parser)[1])
    if reasoner is not None:
        return partial(answer_questions, reasoner.model, shuffled=shuffled)
    return oracle_answers if name == ORACLE else partial(symbolic_answers, SYMBOLIC[name])


def _scores(
    answer: Answering,
    reasoner: Reasoner | None,
    data: VisualData,
    asked: Asked,
    skip_bad: bool,
    show: Callable[..., None],
    true_programs: bool = True,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The release's measures of an agent, and its answers by question."""
    from program_guided.tasks.visual.evaluation import answer_elsewhere, right_by_picture
    from program_guided.tasks.visual.metrics import evaluate

    source, more = (_questions(reasoner, data, name) for name in (asked.name, asked.every))
    others = asked.entailed(more.set)
    unanswered = others if asked.every != asked.name else others[:0]
    show(total=len(asked.numbers) + len(unanswered))
    found = answer(source, asked.numbers, lambda done: show(completed=done))
    entailed = answer(more, unanswered, lambda done: show(completed=len(asked.numbers) + done))
    questions = asked.questions | {question.key: question for question in map(more.set.question, others.tolist())}
    predictions = {**found.predictions, **entailed.predictions}
    scores = evaluate(questions, predictions, asked.choices, skip_bad) if asked.questions else NOT_SCORED
    elsewhere = (
        reasoner is not None and true_programs and not data.pictures(asked.name).isdisjoint(data.index.scene_ids)
    )
    known, right = answer_elsewhere(reasoner.model, source, asked.numbers) if reasoner and elsewhere else (0, None)
    figures = {**scores, "routines": found.families, ELSEWHERE: right, "known_elsewhere": known}
    return {**figures, PICTURES: right_by_picture(asked.questions, predictions)}, found.predictions


def _questions(reasoner: Reasoner | None, data: VisualData, name: str) -> Questions:
    """A set of questions, with the vocabulary of the checkpoint; for the oracle, with that of the data."""
    from program_guided.tasks.visual.batches import Questions

    index = data.index
    if reasoner is None:
        vocabulary = Vocabulary(tuple(index.words[: index.known_words]))
        return Questions(data, name, vocabulary, results_of(index.answers[: index.known_answers]))
    return Questions(data, name, reasoner.task.vocabulary, reasoner.task.results)


def _kind(name: str, agent: Mapping[str, Any]) -> tuple[str, str]:
    """(model, its name in the paper's ablation table)."""
    training = agent["training"]
    if not training:
        return name, name
    config = model_config(training["model"])(**training["config"])
    missing = [ABLATIONS.get(name, f"no {name}") for name in config.without()]
    if training.get("target") == "partial":
        missing.append("partial supervision")
    if agent.get("shuffled"):
        missing.append("shuffled pictures")
    if agent.get("parser"):
        missing.append("predicted programs")
    return training["model"], ", ".join(missing) or "full model"


def means(agents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Mean measures, and standard error of accuracy, over checkpoints that differ only in their seed."""
    groups: list[dict[str, Mapping[str, Any]]] = []
    for name, agent in agents.items():
        group = next((each for each in groups if all(_another_seed(agent, other) for other in each.values())), None)
        if group is None:
            groups.append(group := {})
        group[name] = agent
    found = [_mean_of(group, split) for group in groups for split in next(iter(group.values()))["splits"]]
    for each in found:
        first = next(other for other in found if other["split"] == each["split"])
        _add_intervals(each, None if each is first else first[PICTURES])
    return [{name: value for name, value in each.items() if name != PICTURES} for each in found]


def _another_seed(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if two agents were trained in the same way on the same data, with different seeds."""
    first, second = one["training"], other["training"]
    if any(one.get(how) != other.get(how) for how in ("shuffled", "parser")):
        return False
    return _recipe(first) == _recipe(second) and first.get("seed") != second.get("seed")


def _recipe(training: Mapping[str, Any]) -> tuple[Any, ...]:
    """Everything that a training depends on, apart from its seed."""
    settings = {name: value for name, value in training.get("settings", {}).items() if name != "eval_every"}
    data = {name: value for name, value in training.get("task", {}).items() if name != "held_out"}
    return (*(training.get(name) for name in ("model", "config", "reader", "target")), data, settings)


def _mean_of(group: Mapping[str, Mapping[str, Any]], split: str) -> dict[str, Any]:
    agents = list(group.values())
    model, ablation = _kind(next(iter(group)), agents[0])
    accuracies = [agent["splits"][split]["accuracy"] for agent in agents]
    return {
        "model": model,
        "ablation": ablation,
        "agents": list(group),
        "split": split,
        "seeds": [agent["training"].get("seed") for agent in agents],
        "standard_error": _error([accuracy for accuracy in accuracies if accuracy is not None]),
        PICTURES: _pictures_of(agents, split),
        **{name: _mean([agent["splits"][split].get(name) for agent in agents]) for name in (*MEASURES, ELSEWHERE)},
    }


def _pictures_of(agents: Sequence[Mapping[str, Any]], split: str) -> NDArray[np.float64] | None:
    """(2, pictures) right answers, the mean over agents, and questions; None where they were not saved."""
    import numpy as np

    every = [agent["splits"][split].get(PICTURES) for agent in agents]
    if None in every or len({tuple(each["asked"]) for each in every}) != 1 or not every[0]["asked"]:
        return None
    return np.array([np.mean([each["right"] for each in every], axis=0), every[0]["asked"]])


def _add_intervals(mean: dict[str, Any], first: NDArray[np.float64] | None) -> None:
    """Add the interval of a row's accuracy over pictures, and of the first row's lead."""
    from program_guided.learning.intervals import interval

    own = mean[PICTURES]
    if own is None:
        return
    mean["interval"] = interval(own[0], own[1])
    if first is not None and first.shape == own.shape and (own[1] == first[1]).all():
        mean["behind"] = interval(first[0] - own[0], own[1])


def _error(values: Sequence[float]) -> float | None:
    """Standard error of the mean."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _print_means(found: Sequence[Mapping[str, Any]], split: str) -> None:
    headings = ("acc.", "±", "bin.", "open", "cons.", "plau.", "val.", "dist.", "other", "seeds", "paper")
    rows = [
        [_named(each, found), _shown(each["accuracy"]), _shown(each["standard_error"])]
        + [_shown(each[name]) for name in MEASURES[1:-1]]
        + [_shown(each["distribution"], 3), _shown(each[ELSEWHERE])]
        + [str(len(each["seeds"])), _shown(PAPER.get(each["ablation"]))]
        for each in found
    ]
    print_table(f"\nquestions of {split} answered, % (the paper's are of GQA)", ("model", *headings), rows)


def _print_intervals(found: Sequence[Mapping[str, Any]]) -> None:
    """Print how sure accuracies, and the first row's lead, are over pictures."""
    for each in found:
        if "interval" in each:
            lead = f"; {_named(found[0], found)} leads by {_range(each['behind'])}" if "behind" in each else ""
            print(f"{_named(each, found)}: {_range(each['interval'])}{lead}")
    if any("interval" in each for each in found):
        print("(in brackets: 95 % intervals over pictures)")


def _range(found: Mapping[str, float]) -> str:
    return f"{found['points']:.1f} % ({found['low']:.1f} to {found['high']:.1f})"


def _print_breakdown(agents: Mapping[str, Any], key: str) -> None:
    found = {
        (Path(name).name, split): each[key]
        for name, agent in agents.items()
        for split, each in agent["splits"].items()
        if each[key]
    }
    values = list(dict.fromkeys(value for each in found.values() for value in each))
    titles = {"routines": "routines whose result is right, %", "steps": "by steps of reasoning, %"}
    rows = [[*where, *(_shown(each.get(value)) for value in values)] for where, each in found.items()]
    print_table(f"\n{titles.get(key, f'by {key} type, %')}", ("model", "split", *values), rows)


def _named(mean: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """Name of an ablation, with its model if that is not `plus`, and its agents if the name is not unique."""
    name = f"paper: {mean['ablation']}" if mean["model"] == "paper" else str(mean["ablation"])
    same = [each for each in others if (each["model"], each["ablation"]) == (mean["model"], mean["ablation"])]
    return f"{name} ({', '.join(Path(agent).name for agent in mean['agents'])})" if len(same) > 1 else name


def _shown(number: float | None, digits: int = 1) -> str:
    return "" if number is None else f"{number:.{digits}f}"
