"""Fills the figures of documents in from results/: what stands between `<!-- figures: NAME -->` and `<!-- end -->`.

python tools/results.py            # writes them
python tools/results.py --check    # only says whether they are up to date
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from program_guided.experiments import EXPERIMENTS, Experiment
from program_guided.experiments import tables as experiment_tables
from program_guided.experiments.lines import read_lines
from program_guided.tasks.minecraft.commands.evaluate import PAPER, PAPER_UNSEEN
from program_guided.tasks.visual.commands.evaluate import PAPER as PAPER_VISUAL

ROOT = Path(__file__).parents[1]
SPLITS = ("test", "longer", "complex")
MEASURES = ("accuracy", "binary", "open", "consistency")
KINDS = ("query", "choose", "verify", "logical", "compare")
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
PLACES = ("README.md", "docs/*.md", "program_guided/weights/*/README.md")

BLOCKS: dict[str, Callable[[], str]] = {}
"""Name of a block -> its text."""


def block(make: Callable[[], str]) -> Callable[[], str]:
    """A function whose result is the block of its name."""
    BLOCKS[make.__name__.replace("_", "-")] = make
    return make


@cache
def results(name: str) -> Any:
    """A file of results/."""
    return json.loads((ROOT / "results" / f"{name}.json").read_text("utf-8"))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows))


def prose(text: str) -> str:
    """A paragraph, wrapped."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def completions(splits: Mapping[str, Any]) -> list[str]:
    """Completion of the three splits."""
    return [f"{splits[name]['completion']:.1f}" for name in SPLITS]


def trainings(figures: Any, model: str) -> list[Any]:
    """Agents of a model, those that were trained."""
    return [each for each in figures["agents"].values() if each["training"]["executor"]["form"] == model]


def slowest(agents: Iterable[Any]) -> float:
    """Minutes of the slowest training."""
    return max(agent["training"].get("minutes", 0.0) for agent in agents)


def shipped(name: str) -> Any:
    """Completion of a shipped executor of the world, by split."""
    return results("evaluate")["agents"][name]["splits"]


# README.md


@block
def main() -> str:
    """The main results, beside the paper's."""
    dense, reward = results("dense")["means"]["plus, dense"], next(iter(results("reward")["means"].values()))
    answered = results("visual_shipped")["agents"]["visual"]["splits"]["test"]["accuracy"]

    def row(ours: Mapping[str, Any], target: str) -> list[str]:
        return [" / ".join(completions(ours)), " / ".join(str(PAPER[target][name]) for name in SPLITS)]

    return table(
        ("%", "here", "in the paper"),
        (
            ("programs finished, learned from a planner", *row(dense, "dense")),
            ("programs finished, learned from reward alone", *row(reward, "reward")),
            ("questions about pictures answered", f"{answered:.1f}, drawn", f"{PAPER_VISUAL['full model']:.1f}, GQA"),
        ),
    )


# docs/results.md


@block
def completion() -> str:
    """Completion of the shipped executors, the planner and chance."""

    def row(name: str, split: str, agent: Any) -> tuple[str, ...]:
        found, target = agent["splits"][split], (agent["training"] or {}).get("target")
        paper = str(PAPER[target][split]) if target else ""
        failed = [f"{count} {why}" for why, count in found["outcomes"].items() if why != "finished" and count]
        return (
            split,
            f"`{name}`",
            f"{found['completion']:.1f}",
            paper,
            f"{found['mean_steps']:.1f}",
            ", ".join(failed),
        )

    agents = results("evaluate")["agents"]
    rows = [row(name, split, agent) for name, agent in agents.items() for split in SPLITS]
    return table(("split", "agent", "% finished", "in the paper", "steps", "what failed"), rows)


@block
def dense() -> str:
    """Executors trained by the planner."""
    figures, rows = results("dense"), []
    for kind, splits in figures["means"].items():
        model = kind.split(",")[0]
        agents = trainings(figures, model)
        size = f"{agents[0]['training']['parameters'] / 1e6:.2f}M"
        title = f"`{model}`, mean of {len(agents)} seeds"
        rows.append((title, size, *completions(splits), f"{slowest(agents):.0f}"))
    paper = ("ProTo, as in the paper", "1.30M", *(str(PAPER["dense"][name]) for name in SPLITS), "")
    headings = ("% of programs finished", "parameters", "standard", "longer", "complex", "minutes (slowest seed)")
    return table(headings, (*rows, paper))


@block
def strict() -> str:
    """Completion without a repetition penalty."""
    means = results("dense_strict")["means"]
    plus, paper = (" / ".join(completions(means[f"{model}, dense"])) for model in ("plus", "paper"))
    return prose(
        f"""Executors act greedily, with a repetition penalty: the logit of an action falls each time it was chosen in
        the same state during the same routine. Strictly greedily (`--repetition-penalty 0`) they sometimes go in
        circles until time is up, and `plus` finishes {plus} %, `paper` {paper} %
        ([raw figures](../results/dense_strict.json)); the curves above were measured strictly greedily too."""
    )


@block
def beyond() -> str:
    """Larger maps and longer programs than in training."""
    ten, twelve, long = (
        results(name)["agents"]["minecraft"]["splits"][split]["completion"]
        for name, split in (("sides_10", "test"), ("sides_12", "test"), ("tokens_200", "200 tokens"))
    )
    return prose(
        f"""Beyond the training data: on maps of side 10 the shipped executor finishes {ten:.1f} % of the test
        programs, on side 12 {twelve:.1f} % (trained on sides 5 to 8), and {long:.1f} % of 100 programs of 200 tokens
        (trained on up to 80). Raw figures: [10](../results/sides_10.json), [12](../results/sides_12.json),
        [200 tokens](../results/tokens_200.json). It has not learned to compare with numbers above 4, which no program
        of train has."""
    )


@block
def reward() -> str:
    """Executors trained by reward alone."""

    def row(title: str, agents: Sequence[Any], splits: Mapping[str, Any]) -> tuple[str, ...]:
        steps = max(agent["training"]["samples"] for agent in agents) / 1e6
        return title, *completions(splits), f"{steps:.0f}", f"{slowest(agents):.0f}"

    rows = []
    for title, name in (("`plus`", "reward"), ("`plus`, `--no-names`", "reward_without_names")):
        agents = trainings(results(name), "plus")
        (mean,) = results(name)["means"].values()
        rows.append(row(f"{title}, mean of {len(agents)} seeds", agents, mean))
    (paper,) = trainings(results("reward"), "paper")
    rows.append(row("`paper`, one seed", [paper], paper["splits"]))
    published = ("ProTo, as in the paper", *(str(PAPER["reward"][name]) for name in SPLITS), "10", "80 hours on a GPU")
    headings = ("% of programs finished", "standard", "longer", "complex", "million steps", "minutes (slowest seed)")
    return table(headings, (*rows, published))


@block
def unseen() -> str:
    """Routines that do not occur in training."""

    def row(name: str) -> tuple[str, ...]:
        with_names, without = results(f"unseen_{name}"), results(f"unseen_{name}_without_names")
        (ours,), (others,) = ([a for a in each["agents"].values() if a["training"]] for each in (with_names, without))
        found = [each["splits"]["test"] for each in (with_names["agents"]["planner"], ours, others)]
        paper = PAPER_UNSEEN[with_names["unseen"]]
        shown = (*(each["completion"] for each in found), paper["planner"], paper["reward"])
        return f"`{with_names['unseen']}`", str(found[0]["programs"]), *(f"{each:.1f}" for each in shown)

    headings = ("planner", "`plus`", "`plus`, `--no-names`", "planner, in the paper", "ProTo, in the paper")
    rows = (row(name) for name in ("gold", "river", "silver"))
    return table(("% of programs finished", "programs", *headings), rows)


@block
def visual_shipped() -> str:
    """Accuracy of the shipped executor of the visual task."""
    found = results("visual_shipped")["agents"]["visual"]["splits"]["test"]
    prior = results("dataset_visual")["blind_prior"]["whole program"]
    worst, lowest = min(found["structural"].items(), key=lambda each: each[1])
    return prose(
        f"""From the pixels of pictures that it was not trained on, the shipped executor answers
        {found["accuracy"]:.1f} % of the questions of the test split; of the structural types it is worst at
        {worst}, {lowest:.1f} %. Guessing by the whole program answers {prior:.1f} %
        ([figures](../results/dataset_visual.json))."""
    )


def ablation(mean: Mapping[str, Any]) -> str:
    """The row of the paper's ablation table."""
    return str(mean.get("ablation", mean["model"]))


NOT_LEARNED = {
    "symbolic": "symbolic execution of the most likely labels",
    "symbolic-majority": "symbolic execution, or else the most frequent answer of train",
    "symbolic-repair": "symbolic execution, or else with the most likely object",
    "oracle": "oracle, on the scene graphs",
}


@block
def visual() -> str:
    """Answers from pixels, beside execution without learning."""
    means = results("visual_shipped")["means"]

    def row(mean: Mapping[str, Any]) -> tuple[str, ...]:
        name = ablation(mean)
        low, high = (mean["interval"][side] for side in ("low", "high"))
        paper = f"{PAPER_VISUAL[name]:.1f}" if name in PAPER_VISUAL else ""
        measures = (f"{mean[measure]:.1f}" for measure in MEASURES[1:])
        lead = "{points:+.1f} ({low:+.1f} to {high:+.1f})".format(**mean["behind"]) if "behind" in mean else ""
        accuracy = f"{mean['accuracy']:.1f} ({low:.1f} to {high:.1f})"
        return NOT_LEARNED.get(name, name), accuracy, lead, *measures, paper

    headings = ("% of questions answered", "accuracy", "lead of the full model", *MEASURES[1:], "paper, on GQA")
    return table(headings, map(row, means))


@block
def visual_noise() -> str:
    """Answers at several levels of uncertainty, learned and not."""
    files = {
        "clean vectors": "visual_clean",
        "pixels, perfect camera": "visual_noise_0",
        "pixels": "visual_shipped",
        "pixels, twice the noise": "visual_noise_2",
        "pixels, in the true boxes": "visual_true",
    }
    agents = ("visual", "symbolic", "symbolic-majority", "symbolic-repair")

    def accuracy(name: str, agent: str) -> str:
        return f"{results(name)['agents'][agent]['splits']['test']['accuracy']:.1f}"

    rows = (
        (f"[{what}](../results/{name}.json)", *(accuracy(name, agent) for agent in agents))
        for what, name in files.items()
    )
    return table(("% of questions answered", "learned", *agents[1:]), rows)


@block
def detector() -> str:
    """Measures of the shipped detector."""
    figures = results("detector")
    measures, shown = figures["measures"], ("AP50", "AP50 by name", "names", "attributes", "location", "weather")
    found = ", ".join(f"{name} {100 * measures[name]:.1f} %" for name in shown)
    return prose(
        f"""On {figures["pictures"]} pictures of the test split: {found}; {figures["milliseconds"]:.0f} ms a picture on
        one core ([raw figures](../results/detector.json))."""
    )


@block
def real_data() -> str:
    """The data of the study of real pictures."""
    figures = results("real_pictures")
    questions, pictures = figures["questions"], figures["pictures"]
    return prose(
        f"""Learned from {questions["train"]:,} real GQA questions about {pictures["train"]} pictures, by their answers
        alone; then asked {questions["test"]:,} questions about {pictures["test"]} other pictures. The answer prior is
        kernel ridge regression over the answers to similar questions about similar pictures, and executes nothing; an
        executor is added to it, or answers alone. `blind` is the same without pictures; `shuffled` is shown wrong ones.
        Mean of three seeds ([raw figures](../results/real_pictures.json)); the most frequent answer to the same program
        is right in {figures["priors"]["whole program"]:.1f} %, and {figures["unknown_answers"]:.1f} % of the answers
        are never given in train. The questions come from the testdev split, so these figures are **not comparable with
        the paper's split**."""
    )


@block
def real() -> str:
    """The worth of real pictures."""
    figures = results("real_pictures")
    rows = (
        (name, f"{accuracy:.1f}", *(f"{figures['structural'][kind][name]:.1f}" for kind in KINDS))
        for name, accuracy in figures["accuracy"].items()
    )
    differences = (
        (name, f"{each['points']:+.1f}", f"{each['low']:+.1f} to {each['high']:+.1f}")
        for name, each in figures["differences"].items()
    )
    worth = table(("difference", "points", "95 % interval over pictures"), differences)
    return f"{table(('% of questions answered', 'all', *KINDS), rows)}\n\n{worth}"


# docs/data_card.md


@block
def examples() -> str:
    """Tasks in one file each, trained with their defaults."""
    lists = next(iter(results("lists")["agents"].values()))
    test = lists["splits"]["test"]
    weakest = min(test["routines"].values())
    rows = [
        (
            "`lists.py`",
            "the oracle",
            f"{test['accuracy']:.1f} of all answers, {test['unseen_programs']:.1f} of programs not in train",
            f"every operation at least {weakest:.1f}",
            f"{lists['training']['minutes']:.0f}",
        )
    ]
    for name, teacher in (("lamps_dense", "a planner"), ("lamps_reward", "reward alone")):
        agent = next(iter(results(name)["agents"].values()))
        found, minutes = agent["splits"]["test"], f"{agent['training']['minutes']:.0f}"
        failed = sum(count for outcome, count in found["outcomes"].items() if outcome != "finished")
        finished = f"{found['completion']:.1f} of programs finished"
        rows.append(("`lamps.py`", teacher, finished, f"{failed} of {found['programs']} failed", minutes))
    return table(("task", "learned from", "% of test", "", "minutes, one core"), rows)


@block
def easy() -> str:
    """Stable-Baselines3's PPO on programs of one routine."""
    figures = results("easy")
    first, last = figures["curve"][0], figures["curve"][-1]
    return prose(
        f"""`proto bench easy` trains exactly that policy: after {last["steps"]:,} steps, {last["minutes"]:.0f} minutes
        of one core, it finishes {last["completion"]:.0f} % of the test programs of `Easy`
        ({first["completion"]:.0f} % after {first["steps"]:,} steps; acting at random {figures["random"]:.0f} %; one
        seed, actions sampled; [raw figures](../results/easy.json))."""
    )


@block
def experiments() -> str:
    """Tables and figures of all experiments that have been run."""
    lines = {name: read_lines(ROOT / "results" / f"{name}.jsonl") for name in EXPERIMENTS}
    return "\n\n".join(section(EXPERIMENTS[name], found) for name, found in lines.items() if found)


def section(experiment: Experiment, lines: Sequence[Mapping[str, Any]]) -> str:
    """An experiment with its table, and its figure if it was drawn."""
    name = experiment.name
    raw = f"`proto experiment run {name}`, [raw figures](../results/{name}.jsonl)."
    parts = [f"### {experiment.title}", prose(f"{experiment.about} {raw}")]
    parts.append(experiment_tables.table(experiment, lines).markdown())
    if (ROOT / "docs" / f"{name}.png").is_file():
        parts.append(f"![{experiment.title}]({name}.png)")
    return "\n\n".join(parts)


@block
def robustness() -> str:
    """Kills, damaged files and mutants."""
    kills, damage, mutants = results("soak_kills"), results("soak_damage")["kinds"], results("mutants")
    killed = sum(each["killed"] for each in kills["commands"].values())
    different = sum(each["different"] for each in kills["commands"].values())
    return prose(
        f"""{len(kills["commands"])} long commands were killed {killed} times, at random moments and before every rename
        of a file, and resumed: {different} ended with other bytes ([raw figures](../results/soak_kills.json)).
        {sum(each["cases"] for each in damage.values()):,} sets of damaged files of {len(damage)} kinds were read:
        {sum(each["error"] for each in damage.values()):,} gave one clear error,
        {sum(each["same"] for each in damage.values()):,} the same contents, and
        {sum(each["unnoticed"] for each in damage.values()):,}, of files without checksums, other contents, with at most
        {max(each["peak_megabytes"] for each in damage.values())} MB of memory ([raw
        figures](../results/soak_damage.json)). Of {mutants["count"]} changes that break the code the tests notice
        {mutants["killed"]} ([raw
        figures](../results/mutants.json))."""
    )


@block
def data_flow() -> str:
    """An executor of the whole language of the world."""
    agent = next(iter(results("data_flow_dense")["agents"].values()))
    found = {name: split["completion"] for name, split in agent["splits"].items()}
    return prose(
        f"""One seed, {agent["training"]["settings"]["steps"]:,} updates: it finishes {found["data-flow"]:.1f} % of the
        programs of `data-flow`, and of test, longer and complex {found["test"]:.1f}, {found["longer"]:.1f} and
        {found["complex"]:.1f} % ([raw figures](../results/data_flow_dense.json))."""
    )


@block
def splits() -> str:
    """Sizes of the splits of the world."""

    def row(name: str, split: Mapping[str, Any]) -> tuple[str, ...]:
        columns = (split[key] for key in ("tokens", "routines", "control_flows", "plan_steps"))
        spread = (f"{each['mean']:.0f} ({each['minimum']}–{each['maximum']})" for each in columns)
        return name, f"{split['programs']:,}", *spread

    found = results("dataset_minecraft")["splits"]
    headings = ("split", "programs", "tokens", "routines", "if, while", "planner's steps")
    prior = found["test"]["finished_by"]["answers_by_prior"]
    low = min(split["conditions"]["min_true"] for split in found.values())
    high = max(split["conditions"]["max_true"] for split in found.values())
    looking = prose(
        f"""Every kind of condition is true in {low:.0f} to {high:.0f} % of its executions in every split, so an agent
        has to look: a planner that answers by the more frequent answer to a condition's words finishes {prior:.0f} % of
        the test programs."""
    )
    return f"{table(headings, (row(*each) for each in found.items()))}\n\n{looking}"


@block
def embedded() -> str:
    """Sizes of the embedded picture world."""
    figures = results("dataset_visual")
    rows = (
        (name, *(f"{figures[name][key]:,}" for key in ("images", "questions", "programs", "answers")))
        for name in ("train", "test")
    )
    return table(("split", "scenes", "questions", "different programs", "different answers"), rows)


# docs/speed.md


@block
def world_speed() -> str:
    """The world beside others."""
    figures = results("bench_world")
    speed, ratio = figures["steps_per_second"], figures["times_faster_than"]
    return table(
        ("", "steps a second", ""),
        (
            ("step alone", f"{speed['step_alone'] / 1e6:.0f} million", ""),
            ("observe, step, new episodes in feasible worlds", f"{speed['environment'] / 1e6:.1f} million", ""),
            ("EnvPool's MiniGrid", f"{speed['envpool'] / 1e6:.2f} million", f"{ratio['envpool']:.0f}x slower"),
            (
                "MiniGrid, SyncVectorEnv",
                f"{speed['minigrid'] / 1e3:.1f} thousand",
                f"{ratio['minigrid']:,.0f}x slower",
            ),
        ),
    )


@block
def executor_speed() -> str:
    """The executor beside a plain decoder."""
    figures, ways = results("bench_executor"), ("forward", "forward and backward")
    ratios = figures["times_faster_than_decoder"]

    def row(model: str) -> tuple[str, ...]:
        speed, ratio = figures["samples_per_second"][model], ratios[model]["decoder, all routines"]
        cells = ((speed[count][way], ratio[count][way]) for count in ("64", "1024") for way in ways)
        return f"`{model}`", *(f"{each / 1e3:.1f} thousand ({times:.1f}x)" for each, times in cells)

    alone = ratios["plus"]["decoder, pointed routine"]
    shown = " / ".join(f"{alone[count][way]:.1f}x" for count in ("64", "1024") for way in ways)
    longest = figures["longest_against_shortest"]
    headings = ("", "forward, batch 64", "and backward", "forward, batch 1,024", "and backward")
    notes = prose(
        f"""Only the pointed row is computed, so a step of `plus` costs the same in a program of 200 routines as in one
        of 5 ({longest["plus"]:.2f}x); one of `paper`, which attends to the words of all routines,
        {longest["paper"]:.2f}x. Attention over the cells is computed from small tables, exactly. Against a decoder that
        is given nothing but the pointed routine, `plus` is {shown} as fast."""
    )
    return f"{table(headings, map(row, ('plus', 'paper')))}\n\n{notes}"


@block
def learning_speed() -> str:
    """Learning from reward beside Stable-Baselines3."""
    figures = results("bench_learn")
    speeds, ratios = figures["steps_per_second"], figures["times_faster_than"]
    one, many = (f"{speeds[peer]:,.0f}" for peer in next(iter(ratios.values())))
    rows = (
        (name, f"{speeds[name]:,.0f}", *(f"{ratio:.1f}x" for ratio in against.values()))
        for name, against in ratios.items()
    )
    return table(("", "steps a second", f"against the peer, one world ({one})", f"64 worlds ({many})"), rows)


def measured(what: str) -> str:
    """A row of the benchmark by its present name: executed alone, or from picture to answer."""
    way, _, how = what.partition(", ")
    return f"{way if way.startswith('from') else 'executed'}, {how}"


@block
def reasoning_speed() -> str:
    """Routines one after another, and in parallel."""
    figures = results("bench_visual")
    speeds, steps = figures["questions_per_second"], figures["steps"]
    rows = [
        (
            measured(what),
            *(f"{speeds[f'{what}, {order}']:,.0f}" for order in ("sequential", "parallel")),
            f"{ratio:.2f}x",
        )
        for what, ratio in figures["times_faster"].items()
    ]
    ratios = {measured(what): ratio for what, ratio in figures["times_faster"].items()}
    one = steps["one program at a time"]
    before = prose(
        f"""The results are the same, to {figures["largest_difference"]:.0e}. Executed picture by picture, a program
        takes {ratios["executed, the programs of a picture at once"]:.1f} times as long one routine after another; one
        program at a time, {ratios["executed, one program at a time"]:.2f} times. One at a time no more can be gained
        than the ratio of steps, {one["sequential"]:.2f} to {one["parallel"]:.2f}; in 256 at once the arithmetic of the
        routines counts too, and that stays the same."""
    )
    after = prose(f"""An executor learns from {speeds["learned"]:,.0f} questions a second.""")
    return f"{before}\n\n{table(('', 'one after another', 'in parallel', ''), rows)}\n\n{after}"


@block
def data_speed() -> str:
    """The index of questions, and features at random access."""
    found = results("bench_visual_data")
    index, features = found["index"], found["features"]
    speeds, ratios = features["pictures_per_second"], features["times_faster"]
    return prose(
        f"""{index["questions"]:,} questions are indexed in {index["cpu_seconds"]:.0f} seconds of CPU time, by
        {index["processes"]} processes in {index["peak_megabytes"]:,.0f} MB of memory, and then read at
        {index["read_per_second"] / 1e3:.0f} thousand a second (other programs used the same cores meanwhile, which
        makes CPU time longer). Features of {features["objects"]} objects, of pictures in random order, are read at
        {speeds["packed"]:,.0f} pictures a second where they are packed, at {speeds["h5"]:,.0f} from h5:
        {ratios["packed"]:.1f} times as fast, and {ratios["packed, read for the first time"]:.1f} times where a
        picture is read for the first time and its checksum compared. They are packed at
        {features["pictures_packed_per_second"]:,.0f} pictures a second."""
    )


# docs/gqa.md


GQA = {"train": 943_000, "train_all": 14_000_000, "testdev": 12_578, "pictures": 148_855}
"""Balanced questions of train and testdev, all questions of train, and pictures of the release."""
EPOCHS, BATCH = 20, 256
"""Settings of the paper."""
TERAFLOPS, NETWORKS = 10, (10, 200)
"""Assumed: sustained by a GPU; Gbit/s between machines."""


@block
def gqa_index() -> str:
    """Time and memory of indexing the release."""
    index = results("bench_visual_data")["index"]
    each = index["cpu_seconds"] / index["questions"]
    return prose(
        f"""A question takes {1e6 * each:.0f} µs of CPU time (measured): the {GQA["train"]:,} of balanced train
        {GQA["train"] * each / 60:.1f} minutes, all {GQA["train_all"] / 1e6:.0f} million of `train_all` (without
        `--only`) {GQA["train_all"] * each / 60:.0f} minutes, shared by the processes (computed).
        {index["processes"]} processes need {index["peak_megabytes"]:,.0f} MB of memory (measured). Until the index
        is complete it takes three quarters of the size of the files."""
    )


@block
def gqa_packing() -> str:
    """Size and time of packing the release's features."""
    found, pictures = results("bench_visual_data")["features"], GQA["pictures"]
    sizes, rate = found["bytes_per_picture"], found["pictures_packed_per_second"]
    return prose(
        f"""{pictures * sizes["h5"] / 1e9:.0f} GB become at most {pictures * sizes["packed"] / 1e9:.1f} GB
        (computed: {pictures:,} pictures of {found["objects"]} objects, each 2,048 numbers in half precision and a
        box; what a picture has less is not stored). One core packs {rate:,.0f} pictures a second,
        {rate * sizes["h5"] / 1e6:,.0f} MB of h5 (measured, files in memory): {pictures / rate / 60:.0f} minutes
        (computed), or as long as the disk takes to deliver them. Training then reads a picture
        {found["times_faster"]["packed"]:.1f} times as fast as from h5."""
    )


@block
def gqa_training() -> str:
    """Arithmetic, time and memory of the paper's training."""
    found = results("bench_gqa")
    update, questions = found["update"], GQA["train"] * EPOCHS
    updates, weights = -(-questions // BATCH), 4 * found["parameters"]
    arithmetic, speed = update["gigaflop_per_question"] * 1e9 * questions, update["questions_per_second"]
    hours = arithmetic / 1e12 / 3600
    rows = (
        ("weights", f"{found['parameters'] / 1e6:.0f} million", f"{weights / 1e9:.2f} GB in single precision"),
        (
            "arithmetic of an update",
            f"{update['gigaflop_per_question']:.1f} GFLOP a question (torch's counter; {found['objects']} objects, "
            f"{found['routines_per_question']:.1f} routines)",
            f"{arithmetic / 1e18:.2f} exaFLOP for {updates:,} updates of {BATCH}",
        ),
        ("speed", f"{speed:.1f} questions a second", f"{questions / speed / 86400:.0f} days on one core"),
        (
            "questions read, targets made",
            f"{found['read_per_second']:,.0f} a second",
            f"{questions / found['read_per_second'] / 8 / 60:.0f} minutes in each of eight processes",
        ),
        (
            f"memory of a process, {update['questions']} questions",
            f"{update['peak_megabytes'] / 1e3:.1f} GB: weights, gradients, optimiser, activations",
            "2 GB more for features that are kept, at most",
        ),
    )
    slow, fast = (2 * weights * 8 / (speed * 1e9) for speed in NETWORKS)
    notes = prose(
        f"""**Estimate for GPUs.** If each of G GPUs sustains T teraFLOP a second, the arithmetic takes {hours:.0f}
        / (G T) hours: at T = {TERAFLOPS}, {hours / 8 / TERAFLOPS:.1f} hours on eight and
        {hours / 32 / TERAFLOPS:.1f} on 32. Programs are executed in few, small steps, so that T may be far below
        what a GPU is sold with; measure it with `--steps 100`. Gradients are averaged in every update: up to
        {2 * weights / 1e9:.1f} GB in and out of every machine, {slow:.1f} seconds of a network of {NETWORKS[0]}
        Gbit/s ({slow * updates / 3600:.0f} hours in all) or {fast:.2f} seconds of one of {NETWORKS[1]} Gbit/s
        ({fast * updates / 3600:.1f} hours). So several machines only help with a fast network."""
    )
    return f"{table(('', 'measured on one core', 'computed from it'), rows)}\n\n{notes}"


@block
def gqa_answers() -> str:
    """Time of an evaluation."""
    found = results("bench_gqa")
    rate = found["update"]["gigaflop_per_question"] * found["update"]["questions_per_second"]
    return prose(
        f"""An answer takes {found["answer_gigaflop"]:.1f} GFLOP (torch's counter); at the {rate:.0f} GFLOP a second
        that training reached on one core, the {GQA["testdev"]:,} questions of balanced testdev take
        {GQA["testdev"] * found["answer_gigaflop"] / rate / 60:.0f} minutes of one core (computed). Evaluation runs
        on the CPU, on all cores (`OMP_NUM_THREADS`)."""
    )


# program_guided/weights/*/README.md


def world_card(name: str, target: str) -> str:
    """Completion of a shipped executor of the world, its size and its training."""
    training = results("evaluate")["agents"][name]["training"]
    rows = (
        ("here", *completions(shipped(name))),
        ("ProTo, in the paper", *(str(PAPER[target][split]) for split in SPLITS)),
    )
    trained = prose(
        f"""{training["parameters"]:,} parameters; {training["samples"] / 1e6:.0f} million samples in
        {training["minutes"]:.0f} minutes on a CPU ({training["machine"]["processor"]}), seed {training["seed"]}, commit
        {training["commit"]}."""
    )
    return f"{table(('% of programs finished', 'standard', 'longer', 'complex'), rows)}\n\n{trained}"


@block
def card_minecraft() -> str:
    """The figures of a model card."""
    return world_card("minecraft", "dense")


@block
def card_minecraft_reward() -> str:
    """The figures of a model card."""
    return world_card("minecraft-reward", "reward")


@block
def card_visual() -> str:
    """The figures of a model card."""
    agent = results("visual_shipped")["agents"]["visual"]
    found, training = agent["splits"]["test"], agent["training"]
    rows = [(measure, f"{found[measure]:.1f}") for measure in MEASURES]
    rows += [(f"questions of type {kind}", f"{found['structural'][kind]:.1f}") for kind in KINDS]
    trained = prose(
        f"""{training["parameters"]:,} parameters; {training["minutes"]:.0f} minutes on a CPU
        ({training["machine"]["processor"]}), seed {training["seed"]}, commit {training["commit"]}."""
    )
    headings = (f"test split, {found['questions']:,} questions", "%")
    return f"{table(headings, rows)}\n\n{trained}"


@block
def card_detector() -> str:
    """The figures of a model card."""
    figures = results("detector")
    headings = (f"{figures['pictures']} pictures of the test split", "%")
    rows = ((name, f"{100 * share:.1f}") for name, share in figures["measures"].items())
    return f"{table(headings, rows)}\n\n{figures['milliseconds']:.0f} ms a picture on one core."


def filled(text: str) -> str:
    """A document with its blocks filled in."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]]()}\n{found[3]}", text)


def outdated() -> dict[Path, str]:
    """Documents that are not up to date -> what they should be."""
    paths = [path for place in PLACES for path in sorted(ROOT.glob(place))]
    texts = {path: path.read_text("utf-8") for path in paths}
    return {path: filled(text) for path, text in texts.items() if filled(text) != text}


def run(check: bool) -> int:
    """1 if something is only checked and not up to date."""
    found = outdated()
    for path, text in found.items():
        if check:
            print(f"{path.relative_to(ROOT)}: its figures are not those of results/; write: python tools/results.py")
        else:
            path.write_text(text, "utf-8")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(run("--check" in sys.argv[1:]))
