"""What `proto evaluate --task visual` does: the release's measures of checkpoints, beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from program_guided.cli.evaluate import SPLITS, Evaluate
from program_guided.cli.output import print_json, progress_bars, save_json
from program_guided.cli.visual_world import ready_world
from program_guided.errors import DataError
from program_guided.files import make_folder_of, read_json, renamed
from program_guided.language.domain import unknown
from program_guided.learning.outcomes import Examination, examine, examine_elsewhere
from program_guided.learning.questions import Questions
from program_guided.learning.reasoner import Reasoner
from program_guided.learning.visual_task import VisualData
from program_guided.models.config import left_out
from program_guided.tasks.visual.metrics import evaluate
from program_guided.tasks.visual.oracle import answer_of, execute
from program_guided.tasks.visual.panels import contact_sheet
from program_guided.tasks.visual.sources import CHOICES, split_of

__all__ = ["measure"]

PAPER = {
    "full model": 64.47,
    "no structure guidance": 55.16,
    "no semantic guidance": 33.82,
    "partial supervision": 60.28,
}
"""The paper's ablation table: accuracy on the validation split of GQA, which is other data."""
MEASURES = ("accuracy", "binary", "open", "consistency", "plausibility", "validity", "distribution")
ELSEWHERE = "elsewhere"
"""% of the questions answered as the oracle does when they are asked about other pictures, where it knows an answer."""
KEPT = ("command", "commit", "machine", "target", "train", "data", "seed", "settings", "samples", "minutes", "curve")
ORACLE = "oracle"
"""Executes programs on scene graphs instead of pictures."""
SAVED = ".json"
"""How the names of files end that `--save` wrote: what was measured then is shown beside what is measured now."""
Answer = Callable[[Questions, np.ndarray, Callable[[int], None]], Examination]
"""Answers the questions of some numbers, and tells how many it has answered."""


def measure(options: Evaluate) -> int:
    """Answer the questions of the splits, and report."""
    splits = ("test",) if options.split == SPLITS else options.split
    if not splits or options.shown < 1:
        raise DataError("nothing to measure: name at least one split, and one question to show")
    if options.sheet is not None:
        if options.sheet.suffix.lower() != ".png":
            raise DataError(f"{options.sheet}: the file's name must end with .png")
        make_folder_of(options.sheet)
    named = options.agent or ("visual",)
    names = [name for name in named if not name.endswith(SAVED)]
    if options.sheet is not None and (not names or names[0] == ORACLE):
        raise DataError("--sheet draws how a checkpoint reasons: name one first")
    agents = {name: _saved(name, splits) if name.endswith(SAVED) else {} for name in named}
    reasoners = {name: None if name == ORACLE else Reasoner.from_pretrained(name) for name in names}
    data = VisualData(options.data or ready_world(only_test=tuple(splits) == ("test",)), options.features)
    sets = {split: _sets(data, split) for split in splits}
    with progress_bars() as progress:
        for name, reasoner in reasoners.items():
            found = {}
            for split, (balanced, every) in sets.items():
                bar = progress.add_task(f"{name} on {split}")
                found[split] = _measured(reasoner, data, balanced, every, progress, bar)
            agents[name] = {name: {"training": _training(reasoner) if reasoner else {}, "splits": found}}
    figures: dict[str, Any] = {"task": "visual", "agents": reduce(or_, agents.values())}
    _check_alike(figures["agents"])
    figures["means"] = _means(figures["agents"])
    if options.save is not None:
        save_json(figures, options.save)
    if options.sheet is not None:
        _draw(options, reasoners[names[0]], data, sets[splits[0]][0])
    if options.json:
        print_json(figures)
        return 0
    _print(figures, options.breakdown)
    written = [str(path) for path in (options.save, options.sheet) if path is not None]
    if written:
        print("wrote", " and ".join(written))
    return 0


def _saved(name: str, splits: Sequence[str]) -> dict[str, Any]:
    """Agents of a FILE that were measured before, each with the command that did it; of AGENT@FILE, that one."""
    only, _, file = name.rpartition("@")
    path = Path(file)
    figures = read_json(path)
    if not isinstance(figures, dict) or figures.get("task") != "visual":
        raise DataError(f"{path}: is no file that 'proto evaluate --task visual --save' wrote")
    agents = figures["agents"]
    if only and only not in agents:
        raise DataError(f"{path}: {unknown('agent', only, agents)}")
    for agent, found in agents.items():
        if set(found["splits"]) != set(splits):
            raise DataError(f"{path}: {agent} was measured on {', '.join(found['splits'])}, not {', '.join(splits)}")
    measured = {key: figures.get(key) for key in ("command", "commit")}
    return {agent: {"measured": measured} | found for agent, found in agents.items() if only in ("", agent)}


def _check_alike(agents: Mapping[str, Any]) -> None:
    """Only what was asked the same number of questions is shown together."""
    (first, known), *others = agents.items()
    for name, agent in others:
        for split, scores in agent["splits"].items():
            if scores["questions"] != known["splits"][split]["questions"]:
                raise DataError(
                    f"{name} was asked {scores['questions']:,} questions of {split}, "
                    f"{first} {known['splits'][split]['questions']:,}: measure both on the same data"
                )


def _sets(data: VisualData, split: str) -> tuple[str, str]:
    """(the set that is measured, the set that entailed questions are in)."""
    measured = data.first_of((f"{split}_balanced", split, f"{split}_all"))
    return measured, f"{split}_all" if f"{split}_all" in data.index.sets else measured


def _measured(
    reasoner: Reasoner | None, data: VisualData, balanced: str, every: str, progress: Any, bar: Any
) -> dict[str, Any]:
    """The release's measures of a reasoner, or of the oracle."""
    vocabulary = reasoner.vocabulary if reasoner else None
    answer: Answer = partial(examine, reasoner.model) if reasoner else _executed
    asked = data.questions(balanced, vocabulary)
    numbers = np.arange(len(asked))
    questions = {question.key: question for question in asked.set}
    if any(question.answer is None or question.semantic is None for question in questions.values()):
        raise DataError(f"{balanced}: has questions without a program or an answer, which cannot be measured")
    more = data.questions(every, vocabulary)
    keys = {key for question in questions.values() for key in question.entailed} - questions.keys()
    others = np.array(sorted(more.set.numbers[key] for key in keys if key in more.set.numbers), np.int64)
    progress.update(bar, total=len(numbers) + len(others))
    found = answer(asked, numbers, lambda done: progress.update(bar, completed=done))
    entailed = answer(more, others, lambda done: progress.update(bar, completed=len(numbers) + done))
    questions |= {question.key: question for question in map(more.set.question, others.tolist())}
    split = split_of(balanced)
    choices = data.index.choices(split) if split in data.index.header["sets"].get(CHOICES, {}) else None
    scores = evaluate(questions, {**found.predictions, **entailed.predictions}, choices)
    known, right = examine_elsewhere(reasoner.model, asked, numbers) if reasoner and data.index.scene_ids else (0, None)
    return {**scores, "routines": found.families, "elsewhere": right, "known_elsewhere": known}


def _executed(asked: Questions, numbers: np.ndarray, progress: Callable[[int], None]) -> Examination:
    """What the oracle answers; nothing where it cannot."""
    predictions: dict[str, str] = {}
    right = 0
    for number in numbers.tolist():
        question = asked.set.question(number)
        answer = answer_of(execute(question.program, asked.index.scene(question.image_id))) or ""
        predictions[question.key], right = answer, right + (answer == question.answer)
        progress(len(predictions))
    return Examination(predictions, 100 * right / max(1, len(numbers)), {})


def _training(reasoner: Reasoner) -> dict[str, Any]:
    told = reasoner.config.get("training", {})
    size = sum(parameter.numel() for parameter in reasoner.model.parameters())
    kept = {key: told[key] for key in KEPT if key in told}
    return {"executor": reasoner.config["executor"], "parameters": size, **kept}


def _kind(training: Mapping[str, Any]) -> tuple[str, str]:
    """(form, what the paper's ablation table calls it)."""
    if not training:
        return ORACLE, ORACLE
    executor = training["executor"]
    names = {"structure": "no structure guidance", "semantics": "no semantic guidance"}
    missing = [names.get(name, f"no {name}") for name in left_out(executor)]
    if training.get("target") == "partial":
        missing.append("partial supervision")
    return executor["form"], ", ".join(missing) or "full model"


def _means(agents: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Mean and spread over checkpoints that differ in their seed only."""
    groups: list[dict[str, Mapping[str, Any]]] = []
    for name, agent in agents.items():
        group = next((each for each in groups if all(_another_seed(agent, other) for other in each.values())), None)
        if group is None:
            groups.append(group := {})
        group[name] = agent
    return [_mean_of(group, split) for group in groups for split in next(iter(group.values()))["splits"]]


def _another_seed(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two agents are of one kind, learned in the same way from the same data, with different seeds."""
    first, second = one["training"], other["training"]
    return _recipe(first) == _recipe(second) and first.get("seed") != second.get("seed")


def _recipe(training: Mapping[str, Any]) -> tuple[Any, ...]:
    """All that a training depends on, but its seed."""
    settings = {name: value for name, value in training.get("settings", {}).items() if name != "every"}
    return _kind(training), training.get("train"), training.get("data"), settings


def _mean_of(group: Mapping[str, Mapping[str, Any]], split: str) -> dict[str, Any]:
    agents = list(group.values())
    form, model = _kind(agents[0]["training"])
    accuracies = [agent["splits"][split]["accuracy"] for agent in agents]
    return {
        "form": form,
        "model": model,
        "agents": list(group),
        "split": split,
        "seeds": [agent["training"].get("seed") for agent in agents],
        "standard_error": _error(accuracies),
        **{name: _mean([agent["splits"][split].get(name) for agent in agents]) for name in (*MEASURES, ELSEWHERE)},
    }


def _error(values: Sequence[float]) -> float | None:
    """Standard error of the mean."""
    return stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _draw(options: Evaluate, reasoner: Reasoner | None, data: VisualData, name: str) -> None:
    """Questions from all over a set."""
    assert options.sheet is not None
    assert reasoner is not None
    asked = data.index.questions(name)
    pictures = []
    for number in np.linspace(0, len(asked) - 1, min(options.shown, len(asked))).round().astype(int).tolist():
        question = asked.question(number)
        detected = data.features.read(question.image_id)
        reasoning = reasoner.reason(question.program, data.index.scene(question.image_id), detected)
        pictures.append(reasoning.card(f"{question.text}  {reasoning.answer} ({question.answer})"))
    with renamed(options.sheet) as temporary:
        contact_sheet(pictures).save(temporary, "PNG")


def _print(figures: Mapping[str, Any], breakdown: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()

    def show(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table = Table(title=f"\n{title}", title_justify="left", box=None, padding=(0, 1, 0, 0))
        for heading in headings:
            table.add_column(heading, justify="left" if heading in ("model", "split") else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        (console if console.is_terminal else Console(width=160)).print(table)

    measures = ("acc.", "±", "bin.", "open", "cons.", "plau.", "val.", "dist.", "other", "seeds", "paper")
    for split in dict.fromkeys(each["split"] for each in figures["means"]):
        means = [each for each in figures["means"] if each["split"] == split]
        rows = [
            [_named(each, means), _shown(each["accuracy"]), _shown(each["standard_error"])]
            + [_shown(each[name]) for name in MEASURES[1:-1]]
            + [
                _shown(each["distribution"], 3),
                _shown(each[ELSEWHERE]),
                str(len(each["seeds"])),
                _shown(PAPER.get(each["model"])),
            ]
            for each in means
        ]
        show(f"questions of {split} answered, % (the paper's are of GQA)", ("model", *measures), rows)
    print("±: standard error over seeds; cons., plau., val., dist.: consistency, plausibility, validity, distribution")
    print("(lower is better); other: questions asked about other pictures, answered as the oracle does")
    if not breakdown:
        return
    for key in ("structural", "semantic", "steps", "routines"):
        found = {
            (name, split): each[key]
            for name, agent in figures["agents"].items()
            for split, each in agent["splits"].items()
            if each[key]
        }
        values = list(dict.fromkeys(value for each in found.values() for value in each))
        title = {"routines": "routines whose result is right, %", "steps": "by steps of reasoning, %"}.get(
            key, f"by {key} type, %"
        )
        show(
            title,
            ("model", "split", *values),
            [[*where, *(_shown(each.get(value)) for value in values)] for where, each in found.items()],
        )


def _named(mean: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """A kind of model, and which one it is where there are several; `plus` is not said."""
    name = f"paper: {mean['model']}" if mean["form"] == "paper" else str(mean["model"])
    alike = [each for each in others if (each["form"], each["model"]) == (mean["form"], mean["model"])]
    return f"{name} ({', '.join(mean['agents'])})" if len(alike) > 1 else name


def _shown(number: float | None, digits: int = 1) -> str:
    return "" if number is None else f"{number:.{digits}f}"
