"""Trains what a user would take instead of an executor: PPO of Stable-Baselines3, on the same environment.

    python -m program_guided.experiments.instead --algorithm ppo --minutes 83 --seed 0 --out out/ppo
    python -m program_guided.experiments.instead evaluate out/ppo --split test longer complex

The same command resumes a training that was interrupted, and continues one that has ended if it is given more
minutes. One core; needs the extra `instead`.

## Algorithms
ppo: PPO with the MultiInputPolicy. It cannot mask actions; one without a meaning at the pointed routine lets time pass.
maskable: sb3-contrib's MaskablePPO, the same with the environment's action masks, which our executors are given too.
recurrent: sb3-contrib's RecurrentPPO with the MultiInputLstmPolicy; it cannot mask actions either.

## Observation
One-hot planes with the agent in the middle, the pointed routine's words one-hot, the inventory, the agent's place: the
wrapper `VectorOneHotPlanes(..., centred=True)`, with which docs/environments.md trains PPO. The environment moves the
pointer, so the pointed routine is all that is needed of a program.

## Policy
A layer of 128 reads the observation (a features extractor, as Stable-Baselines3 documents it), for actor and critic
together; without it an LSTM would have 8 million weights to read the planes with. Behind it everything is the library's
default: two layers of 64 for each of both, and in `recurrent` an LSTM of 256 for each of both before them.

## Settings
256 worlds, rollouts of 32 steps, minibatches of 1,024, 4 epochs, gamma 0.97, entropy 0.01, learning rate 1e-3 (as our
PPO); else the library's defaults (`SETTINGS` in baselines.py). The LSTM is trained step by step, and so nearly twice as
fast on rollouts of this shape as on those of 64 worlds and 128 steps. Nothing was tuned on these programs; on
`Minecraft-Easy-v0` MaskablePPO learns with the layer above as fast as with the policy of docs/environments.md (65 and
64 % of the episodes finished after 115 thousand steps, one seed). Reward: +1 when the program is finished. Programs:
train but for the last 200, in 64 worlds each, all from the beginning: the curriculum, hindsight, retries and the replay
of answers are parts of our recipe, which these libraries do not have.

## Evaluation
On those 200, in the same worlds and acting in the same way (greedily, with the repetition penalty) as `proto train`
evaluates an executor; its time counts, as there. Test splits are for `evaluate`, in the worlds of `proto evaluate`.
"""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import tyro

from program_guided.errors import DataError, ProgramGuidedError
from program_guided.files import check_writable
from program_guided.output import Flag, OptionalPath, report

__all__ = ["EVALUATE", "Evaluate", "Train", "main", "read"]

EVALUATE = "evaluate"
INTERRUPTED = 130


@dataclass(frozen=True)
class Train:
    """Train a policy of Stable-Baselines3 for so many minutes."""

    algorithm: Literal["ppo", "maskable", "recurrent"]
    """PPO, MaskablePPO or RecurrentPPO."""
    out: Path
    """Folder of the training."""
    minutes: float = 30.0
    """Minutes of wall clock, evaluations included."""
    seed: int = 0
    """Seed of the policy and of the worlds."""
    eval_minutes: float = 1.0
    """Minutes between evaluations on the held-out programs, and saved states."""
    num_envs: int = 256
    """Worlds stepped at once."""
    variants: int = 64
    """Worlds of each program."""
    held_out: int = 200
    """Number of programs at the end of train that are held out for evaluation."""

    def check(self) -> None:
        """One clear error for options that cannot be."""
        for name in ("minutes", "eval_minutes", "num_envs", "variants", "held_out"):
            if not 0 < getattr(self, name) < float("inf"):
                raise DataError(f"{name.replace('_', '-')} {getattr(self, name)}: it must be more than 0")
        if not 0 <= self.seed < 2**31:
            raise DataError(f"seed {self.seed}: a seed is from 0 to 2**31 - 1")
        if self.num_envs % 32:
            raise DataError(f"num-envs {self.num_envs}: it must be a multiple of 32, so that minibatches are whole")

    def run(self) -> int:
        self.check()
        from program_guided.experiments.baselines import Plan, Training

        plan = Plan(self.algorithm, self.seed, self.num_envs, self.variants, self.held_out)
        with _Interrupts() as interrupts:
            training = Training(plan, self.out)
            training.to_the_end(self.minutes, self.eval_minutes, lambda: interrupts.asked, _show)
        return 0


@dataclass(frozen=True)
class Evaluate:
    """Measure a trained policy on splits, acting as `proto evaluate` lets executors act."""

    agent: tyro.conf.Positional[Path]
    """Folder of the training."""
    split: tuple[str, ...] = ("test", "longer", "complex")
    """Splits to measure on."""
    repetition_penalty: float = 1.0
    """Decrease of an action's logit for each time it was chosen in the same state during a routine; 0: strictly
    greedy, even in circles."""
    sample: Flag = False
    """Sample actions instead of choosing greedily."""
    seed: int = 0
    """Seed of the samples."""
    save: OptionalPath = None
    """Write the figures to this file too."""

    def check(self) -> None:
        """One clear error for options that cannot be."""
        if not 0 <= self.repetition_penalty < float("inf"):
            raise DataError(f"repetition-penalty {self.repetition_penalty}: it must be 0 or more")
        if self.save is not None:
            check_writable(self.save)

    def run(self) -> int:
        self.check()
        from program_guided.experiments.baselines import measure

        acting = {"repetition_penalty": self.repetition_penalty, "sample": self.sample, "seed": self.seed}
        found = measure(self.agent, self.split, **acting)
        agents = {str(self.agent): {"training": {}, "splits": found}}
        command = shlex.join(["python", "-m", "program_guided.experiments.instead", *sys.argv[1:]])
        report({"command": command, **acting, "agents": agents}, self.save, False, _print)
        return 0


class _Interrupts:
    """Notes Ctrl-C and SIGTERM, so that a rollout is completed and saved; a second one ends at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


def _show(line: Mapping[str, float]) -> None:
    minutes, steps = line["seconds"] / 60, int(line["step"])
    print(
        f"{minutes:.1f} minutes, {steps:,} steps: {line['completion']:.1f} % of held-out programs finished", flush=True
    )


def _print(figures: Mapping[str, Any]) -> None:
    for agent in figures["agents"].values():
        for split, found in agent["splits"].items():
            print(f"{split}: {found['completion']:.1f} % of {found['programs']} programs finished")


def read(arguments: Sequence[str]) -> Train | Evaluate:
    """The options of a command line."""
    program = "python -m program_guided.experiments.instead"
    if list(arguments[:1]) == [EVALUATE]:
        return tyro.cli(Evaluate, args=arguments[1:], prog=f"{program} {EVALUATE}")
    return tyro.cli(Train, args=arguments, prog=program)


def main(arguments: Sequence[str]) -> int:
    """Run the command; the exit code."""
    try:
        return read(arguments).run()
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return INTERRUPTED
    except ProgramGuidedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
