"""The experiments in the 2D Minecraft world: the paper's tables and figures, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from program_guided.experiments.declaration import AGENT, MODULE, PARAMETERS, SEED, Experiment, Measure, Row

__all__ = ["EXPERIMENTS"]

SMALL = ("--steps", "32", "--eval-every", "16", "--num-envs", "8", "--variants", "2", "--held-out", "10")
"""A training of seconds."""
SMALL_MEASURE = ("--split", "test")

# Measures

STRICT = Measure("strictly greedy", ("--repetition-penalty", "0", "--split", "test", "longer", "complex"))
PENALTY = Measure("repetition penalty", ("--split", "test", "longer", "complex"))
SAMPLED = Measure("sampled", ("--sample", "--seed", SEED, "--split", "test", "longer", "complex"))
MEASURES = (STRICT, PENALTY, SAMPLED)

# Rows

NAMES = {
    "transformer": "Transformer",
    "tree_rnn": "Tree-RNN",
    "pga": "PGA",
    "paper": "ProTo, paper",
    "plus": "ProTo, plus",
}
"""Models as the tables call them."""
PAPER: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("reward", "transformer"): {"test": 50.1, "longer": 41.2, "complex": 40.8},
    ("reward", "pga"): {"test": 94.2, "longer": 86.1, "complex": 89.7},
    ("reward", "paper"): {"test": 97.3, "longer": 91.2, "complex": 95.0},
    ("dense", "pga"): {"test": 96.9, "longer": 92.1, "complex": 91.2},
    ("dense", "paper"): {"test": 99.1, "longer": 94.4, "complex": 96.3},
}
"""The paper's Table "minecraft_test"; its ProTo stands beside both of ours."""
PAPER_PARAMETERS = {"transformer": 2.63, "tree_rnn": 0.51, "pga": 1.21, "paper": 1.30}
"""Millions, in its Table "architecture_minecraft"."""
PAPER_UNSEEN = {
    "mine(gold)": {"planner": 11.4, "ProTo": 59.3},
    "is_there[river]": {"planner": 43.8, "ProTo": 65.6},
    "agent[silver]": {"planner": 46.2, "ProTo": 77.1},
}
"""Its Table "generalization_minecraft"."""
RATES: Mapping[tuple[str, str], str] = {}
"""Learning rates of the rivals by target, where another than the default did better on held-out programs."""
MINUTES = {
    ("dense", "plus"): 27.0,
    ("dense", "paper"): 43.0,
    ("dense", "pga"): 47.0,
    ("dense", "transformer"): 150.0,
    ("dense", "tree_rnn"): 42.0,
    ("reward", "plus"): 40.0,
    ("reward", "paper"): 69.0,
    ("reward", "pga"): 57.0,
    ("reward", "transformer"): 95.0,
    ("reward", "tree_rnn"): 53.0,
}
"""Minutes of one training on one of two cores, as far as measured."""


def _row(target: str, model: str, *arguments: str, name: str = "", minutes: float | None = None) -> Row:
    """A model trained by a target."""
    quoted = PAPER.get((target, "paper" if model == "plus" else model), {})
    rate = ("--learning-rate", RATES[target, model]) if (target, model) in RATES else ()
    train = ("minecraft", "--target", target, "--model", model, *rate, *arguments)
    return Row(
        name or f"{NAMES[model]}, {target}",
        train,
        paper={} if arguments else quoted,
        minutes=MINUTES.get((target, model)) if minutes is None else minutes,
    )


REWARD = tuple(_row("reward", model) for model in NAMES)
DENSE = tuple(_row("dense", model) for model in NAMES)


def _world(name: str, title: str, about: str, rows: tuple[Row, ...], **given: object) -> Experiment:
    """An experiment with all three ways to act, on all three splits, unless it says otherwise."""
    plain = Experiment(name, title, about, rows, MEASURES, small=SMALL, small_measure=SMALL_MEASURE)
    return replace(plain, **given)  # type: ignore[arg-type]


MINECRAFT_TEST = _world(
    "minecraft_test",
    "Programs finished, %, by models of equal training",
    "Which model executes programs best, all trained by the same algorithm, from reward alone and from a planner?",
    (*REWARD, *DENSE),
    seeds=3,
)

TRAINING_CURVE = _world(
    "training_curve",
    "Learning from reward: held-out programs finished",
    "How fast does each model learn from reward alone?",
    REWARD,
    seeds=3,
    draw="curves",
)

# A routine that does not occur in training


def _unseen(routine: str) -> tuple[Row, ...]:
    """The planner, which acts at random at a routine, and models trained without it."""
    measures = (Measure("unseen routine", ("--split", "test", "--unseen", routine, "--seed", SEED)),)
    quoted = PAPER_UNSEEN[routine]

    def trained(model: str, *further: str) -> Row:
        train = ("minecraft", "--target", "reward", "--model", model, "--without", routine, *further)
        return Row(
            f"{routine}: {NAMES[model]}", train, "", {"test": quoted["ProTo"]}, measures, MINUTES["reward", model]
        )

    planner = Row(f"{routine}: planner", agent="planner", paper={"test": quoted["planner"]}, measures=measures)
    return replace(planner, minutes=1.0), trained("plus", "--no-names")


GENERALIZATION = _world(
    "generalization_minecraft",
    "Programs with a routine that does not occur in training, finished, %",
    "Does an executor, trained from reward without names, execute routines that no training program has?",
    tuple(row for routine in PAPER_UNSEEN for row in _unseen(routine)),
    seeds=3,
)

# Parameters

ONE_STEP = ("--steps", "1", "--num-envs", "8", "--num-steps", "4", "--variants", "1", "--held-out", "1")


def _size(model: str) -> Row:
    """A model that was trained for one step, so that its parameters can be counted."""
    train = ("minecraft", "--target", "reward", "--model", model, *ONE_STEP)
    quoted = {PARAMETERS: PAPER_PARAMETERS[model]} if model in PAPER_PARAMETERS else {}
    return Row(NAMES[model], train, paper=quoted, minutes=0.3)


ARCHITECTURE = Experiment(
    "architecture_minecraft",
    "Parameters of the models in the world",
    "How large is each model, beside the paper's?",
    tuple(map(_size, NAMES)),
    small=ONE_STEP,
)

# Ablations

SHORT = ("--steps", "1500")
ADDITIONS_OFF = {
    "positions": ("--no-positions",),
    "linear frequencies": ("--no-linear-frequencies",),
    "tied query-key initialisation": ("--no-tied-query-key",),
    "normalised encoders": ("--no-normalised-encoders",),
    "shifted positions": ("--no-shifted",),
    "residual paths": ("--no-residual",),
    "LayerNorm": ("--no-normalise",),
    "null key": ("--no-null-key",),
    "position-free heads": ("--no-position-free-heads",),
    "count feature": ("--no-count-feature",),
    "inventory as items": ("--no-inventory-items",),
    "feed-forward": ("--no-feed-forward",),
    "projections": ("--no-projections",),
    "memory": ("--no-memory",),
    "visits": ("--no-visits",),
    "cross-entropy (l2)": ("--loss", "l2"),
    "DAgger (behaviour cloning)": ("--states", "planner"),
    "extra conditions": ("--extra-conditions", "0"),
    "early greedy steps": ("--greedy-rise", "1"),
    "structure guidance": ("--no-structure",),
    "semantic guidance": ("--no-semantics",),
}
"""Parts of `paper` and of its training beyond the equations (docs/paper_map.md), and how each is switched off."""
LITERAL = (
    "--no-positions",
    "--no-residual",
    "--no-normalise",
    "--no-null-key",
    "--no-position-free-heads",
    "--no-count-feature",
    "--no-inventory-items",
    "--no-feed-forward",
)
"""Nearly the equations alone."""
ADDITIONS = _world(
    "additions",
    "What `paper` needs beyond the equations: programs finished after short trainings, %",
    "What is each addition to the paper's equations worth, in a short training by the planner?",
    (
        _row("dense", "paper", *SHORT, name="everything", minutes=6.0),
        *(
            _row("dense", "paper", *SHORT, *off, name=f"without {part}", minutes=6.0)
            for part, off in ADDITIONS_OFF.items()
        ),
        _row("dense", "paper", *SHORT, "--blocks", "1", name="one block", minutes=4.0),
        _row("dense", "paper", *SHORT, "--blocks", "3", name="three blocks", minutes=8.0),
        _row("dense", "paper", *SHORT, *LITERAL, name="nearly literal", minutes=5.0),
        _row("dense", "paper", *SHORT, "--released", name="order of the released code", minutes=6.0),
    ),
)

PARTS_OFF = {
    "value propagation": ("--no-propagation",),
    "counting heads": ("--no-counting",),
    "names": ("--no-names",),
    "context": ("--no-context",),
    "visits": ("--no-visits",),
}
"""Parts of `plus`, and how each is switched off."""
PARTS = _world(
    "parts",
    "What `plus` consists of: programs finished, learned from reward, %",
    "What is each part of `plus` worth, learning from reward alone?",
    (
        _row("reward", "plus"),
        *(_row("reward", "plus", *off, name=f"without {part}") for part, off in PARTS_OFF.items()),
        _row("reward", "pga"),
        _row("reward", "pga", "--with-propagation", name="PGA with value propagation"),
        _row("reward", "pga", "--fusion", "concat", name="PGA, goal beside the state (concat)"),
    ),
)

RECIPE_OFF = {
    "curriculum": ("--curriculum-threshold", "0"),
    "hindsight": ("--hindsight-share", "0"),
    "condition labels": ("--replay-batch", "0"),
    "sharpening": ("--inverse-temperature", "1"),
}
RECIPE = _world(
    "recipe",
    "What the recipe of PPO consists of: programs finished by `plus`, learned from reward, %",
    "What is each part of the recipe for learning from reward worth?",
    (
        _row("reward", "plus"),
        *(_row("reward", "plus", *off, name=f"without {part}") for part, off in RECIPE_OFF.items()),
    ),
)

A2C_STEPS = ("--steps", "1500000")
COMBINED = (
    *("--ent-coef", "0.01", "--num-envs", "512", "--num-steps", "32"),
    *("--standardise", "--curriculum-threshold", "0.7"),
)
A2C = {
    "paper's settings": (),
    "entropy 0.01": ("--ent-coef", "0.01"),
    "entropy 0": ("--ent-coef", "0"),
    "512 x 32 rollouts": ("--num-envs", "512", "--num-steps", "32"),
    "standardised advantages": ("--standardise",),
    "short programs first": ("--curriculum-threshold", "0.7"),
    "answers given": ("--answers", "given"),
    "wrong answers forgiven": ("--answers", "forgiven"),
    "reward for every routine": (),
    "entropy 0.01, 512 x 32, standardised, short first": COMBINED,
    "the same, answers forgiven": (*COMBINED, "--answers", "forgiven"),
}
"""Ways to train `paper` by A2C; the paper's entropy is 0.1."""
A2C_PLUS = ("paper's settings", "the same, answers forgiven")
"""Those in which `plus` is trained too."""


def _a2c(model: str, name: str) -> Row:
    target = "progress" if name == "reward for every routine" else "reward"
    arguments = ("--algorithm", "a2c", *A2C_STEPS, *A2C[name])
    return _row(target, model, *arguments, name=f"{NAMES[model]}, A2C, {name}", minutes=12.0)


ALGORITHMS = _world(
    "algorithms",
    "Programs finished, learned from reward by A2C and by PPO, %",
    "Is it the executor or the learning algorithm, and what does A2C need?",
    (
        *(replace(_row("reward", model), name=f"{NAMES[model]}, PPO") for model in ("paper", "plus")),
        *(_a2c("paper", name) for name in A2C),
        *(_a2c("plus", name) for name in A2C_PLUS),
    ),
)

# Data flow

DATA_FLOW_OFF = {
    "everything": (),
    "without structure guidance": ("--no-structure",),
}
DATA_FLOW = _world(
    "data_flow",
    "Programs with data flow finished, %",
    "Does the structure guidance matter where routines need the results of others?",
    (
        *(
            _row("dense", "plus", "--data-flow", *off, name=f"ProTo, plus, {part}", minutes=42.0)
            for part, off in DATA_FLOW_OFF.items()
        ),
        *(
            _row("dense", model, "--data-flow", name=f"{NAMES[model]}", minutes=MINUTES["dense", model])
            for model in NAMES
            if model != "plus"
        ),
    ),
    measures=(
        Measure("strictly greedy", ("--repetition-penalty", "0", "--split", "data-flow")),
        Measure("repetition penalty", ("--split", "data-flow")),
        Measure("Z erased", ("--erase-results", "--split", "data-flow")),
    ),
    small_measure=("--split", "data-flow"),
    seeds=3,
)

# Lengths of programs, and beyond training

ALL_SPLITS = ("--split", "train", "test", "longer", "complex")
STATISTICS = Measure("programs", command=("dataset", "stats", "minecraft", "--json"))
PROGRAM_LENGTHS = Experiment(
    "program_lengths",
    "Lengths of programs, and completion by length",
    "How long are the programs of each split, and does completion fall with their length?",
    (
        Row(
            "splits", measures=(Measure("programs", command=("dataset", "stats", "minecraft", "--json")),), minutes=1.0
        ),
        Row("`minecraft`, shipped", agent="minecraft", minutes=3.0),
        Row("`minecraft-reward`, shipped", agent="minecraft-reward", minutes=3.0),
    ),
    (Measure("repetition penalty", ALL_SPLITS),),
    small_measure=("--split", "test"),
    draw="lengths",
)

BEYOND = _world(
    "beyond",
    "Programs finished on larger maps, longer programs, and programs with larger numbers, %",
    "Does an executor go on where training ended: maps of side 10 and 12 instead of 8, 200 tokens instead of 80, "
    "comparisons with numbers above 4?",
    tuple(replace(_row(target, "plus"), paper={}) for target in ("dense", "reward")),
    measures=(
        Measure("side 10", ("--sides", "10", "10", "--split", "test")),
        Measure("side 12", ("--sides", "12", "12", "--split", "test")),
        Measure("200 tokens", ("--tokens", "200")),
        Measure("numbers 5 to 8", ("--numbers", "5", "8")),
    ),
    seeds=3,
)

# Without an executor

COMMAND = (MODULE, "program_guided.experiments.instead")
INSTEAD_OF = {
    "ppo": "PPO, Stable-Baselines3",
    "maskable": "MaskablePPO, sb3-contrib",
    "recurrent": "RecurrentPPO, sb3-contrib",
}
"""Algorithms of other libraries (`instead.py`), as the table calls them."""
SMALL_INSTEAD = ("--minutes", "0.02", "--num-envs", "32", "--variants", "2", "--held-out", "10")


def _instead(algorithm: str, name: str) -> Row:
    """An algorithm of another library, for as long as `plus` is trained."""
    minutes = MINUTES["reward", "plus"]
    train = (*COMMAND, "--algorithm", algorithm, "--minutes", f"{minutes:g}")
    measures = tuple(replace(each, command=(*COMMAND, "evaluate", AGENT)) for each in MEASURES)
    return Row(name, train, measures=measures, minutes=minutes, small=SMALL_INSTEAD)


INSTEAD = _world(
    "instead",
    "Programs finished after the same minutes of one core, learned from reward, %",
    "What does a user get who takes PPO of Stable-Baselines3, on the same environment, instead of an executor?",
    (replace(_row("reward", "plus"), paper={}), *(_instead(*each) for each in INSTEAD_OF.items())),
    draw="minutes",
)

EXPERIMENTS = (
    MINECRAFT_TEST,
    TRAINING_CURVE,
    GENERALIZATION,
    ARCHITECTURE,
    ADDITIONS,
    PARTS,
    RECIPE,
    ALGORITHMS,
    DATA_FLOW,
    PROGRAM_LENGTHS,
    BEYOND,
    INSTEAD,
)
