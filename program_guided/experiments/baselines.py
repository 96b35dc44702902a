"""Algorithms of Stable-Baselines3 and its contrib package on the programs of a task, for the experiment `instead`.

    training = Training(Plan("ppo"), Path("out/ppo"))
    training.to_the_end(minutes=83.0)

A training is a folder: `model.zip` is written whole or not at all, and can be read by Stable-Baselines3 itself
(`PPO.load`); beside the model it holds `state.json`, the duration of the training and its curve. `log.jsonl` is that
curve, `trained.json` the record of a training that has ended. Resumed, a training continues with the same weights and
optimizer in new episodes; since its length is given in minutes, no two trainings are the same in any case.
"""

from __future__ import annotations

import importlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor, nn

from program_guided.errors import DataError
from program_guided.experiments.runs import TRAINED
from program_guided.files import held, sweep, write_atomically
from program_guided.learning.executor_agent import REPETITION_PENALTY, RepetitionPenalty
from program_guided.learning.observation import Observation
from program_guided.learning.worlds import Outcome, Worlds
from program_guided.registry import load_task
from program_guided.wrappers import VectorOneHotPlanes

try:
    import sb3_contrib  # noqa: F401
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    from program_guided.stable_baselines import NativeVecEnv, make_vec_env
except ImportError:
    raise DataError(
        "Stable-Baselines3 or its contrib package is not installed: pip install 'program_guided[instead]'"
    ) from None

__all__ = ["ALGORITHMS", "LOG", "MODEL", "Algorithm", "Features", "Plan", "PolicyAgent", "Training", "measure"]

Name = Literal["ppo", "maskable", "recurrent"]
ENVIRONMENT, TASK = "ProgramGuided/Minecraft-v0", "minecraft"
MODEL, STATE, LOG = "model.zip", "state.json", "log.jsonl"
SETTINGS: Mapping[str, Any] = {
    "n_steps": 32,
    "batch_size": 1024,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.97,
    "gae_lambda": 0.95,
    "ent_coef": 0.01,
}
"""Those of all three; what is not named is Stable-Baselines3's default."""
FEATURES = 128


@dataclass(frozen=True)
class Algorithm:
    """An algorithm, and the policy it comes with."""

    algorithm: str
    """module:Class"""
    policy: str
    masks: bool = False
    """Whether actions without a meaning are masked."""
    recurrent: bool = False


ALGORITHMS: Mapping[Name, Algorithm] = {
    "ppo": Algorithm("stable_baselines3:PPO", "MultiInputPolicy"),
    "maskable": Algorithm("sb3_contrib:MaskablePPO", "MultiInputPolicy", masks=True),
    "recurrent": Algorithm("sb3_contrib:RecurrentPPO", "MultiInputLstmPolicy", recurrent=True),
}


@dataclass(frozen=True)
class Plan:
    """All that must be the same when a training is resumed."""

    algorithm: Name
    seed: int = 0
    num_envs: int = 256
    variants: int = 64
    held_out: int = 200
    settings: Mapping[str, Any] = field(default_factory=lambda: dict(SETTINGS))


class Features(BaseFeaturesExtractor):
    """All entries of an observation in one layer, which actor and critic (or their LSTMs) share.

    The logarithm leaves ones and zeros apart and keeps counts small."""

    def __init__(self, observation_space: spaces.Dict, features_dim: int = FEATURES) -> None:
        super().__init__(observation_space, features_dim)
        self.names = tuple(observation_space.spaces)
        self.layer = nn.Linear(spaces.flatdim(observation_space), features_dim)

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        # rollouts and minibatches have the entries in different orders
        flat = torch.cat([observations[name].flatten(start_dim=1) for name in self.names], dim=1)
        return torch.relu(self.layer(flat.log1p()))


def _environments(worlds: Worlds, seed: int | None = None) -> NativeVecEnv:
    """The environment, with its programs and worlds replaced by these."""

    def wrapped(environments: Any) -> Any:
        environments.unwrapped.batch = worlds
        return VectorOneHotPlanes(environments, centred=True)

    return make_vec_env(ENVIRONMENT, worlds.count, seed, wrapper=wrapped, variants=1)


def _built(plan: Plan, environments: NativeVecEnv) -> Any:
    """The untrained model."""
    algorithm = ALGORITHMS[plan.algorithm]
    module, _, name = algorithm.algorithm.partition(":")
    made = getattr(importlib.import_module(module), name)
    return made(
        algorithm.policy,
        environments,
        policy_kwargs={"features_extractor_class": Features},
        seed=plan.seed,
        device="cpu",
        **plan.settings,
    )


class PolicyAgent:
    """Acts by a policy of Stable-Baselines3 in the three ways of our executors (`learning/executor_agent.py`): greedily
    with a repetition penalty (0: strictly greedily), or by sampling."""

    def __init__(
        self,
        model: Any,
        algorithm: Algorithm,
        *,
        repetition_penalty: float = REPETITION_PENALTY,
        sample: bool = False,
        seed: int = 0,
    ) -> None:
        self.policy, self.algorithm = model.policy, algorithm
        self.repetition_penalty, self.sample = repetition_penalty, sample
        self._generator = torch.Generator().manual_seed(seed)
        self._worlds: Worlds | None = None
        self._environments: Any
        self._penalty: RepetitionPenalty
        self._state: tuple[Tensor, Tensor]

    @torch.inference_mode()
    def act(self, worlds: Worlds) -> NDArray[np.int64]:
        """An action in every world that still runs (0 in the others)."""
        if self._worlds is not worlds:
            self._begin(worlds)
        self.policy.set_training_mode(False)
        numbers, actions = np.flatnonzero(worlds.outcome == Outcome.RUNNING), np.zeros(worlds.count, np.int64)
        self._penalty.forget(worlds.ended >= 0)
        actions[numbers] = self._chosen(self._logits(numbers), numbers, worlds)
        return actions

    def _begin(self, worlds: Worlds) -> None:
        self._worlds, self._environments = worlds, _environments(worlds).environments
        self._penalty = RepetitionPenalty(self.repetition_penalty, worlds.count)
        if self.algorithm.recurrent:
            layers, _, width = self.policy.lstm_hidden_state_shape
            self._state = torch.zeros(layers, worlds.count, width), torch.zeros(layers, worlds.count, width)

    def _logits(self, numbers: NDArray[np.int64]) -> Tensor:
        """(running, actions)"""
        nowhere = np.zeros(self._environments.num_envs, np.bool_)
        every, infos = self._environments.reset(options={"reset_mask": nowhere})  # observes, and changes nothing
        observations, _ = self.policy.obs_to_tensor({name: array[numbers] for name, array in every.items()})
        if self.algorithm.recurrent:
            state = self._state[0][:, numbers], self._state[1][:, numbers]
            distribution, new = self.policy.get_distribution(observations, state, torch.zeros(len(numbers)))
            for kept, part in zip(self._state, new, strict=True):
                kept[:, numbers] = part
        elif self.algorithm.masks:
            distribution = self.policy.get_distribution(observations, action_masks=infos["action_mask"][numbers])
        else:
            distribution = self.policy.get_distribution(observations)
        logits: Tensor = distribution.distribution.logits
        return logits

    def _chosen(self, logits: Tensor, numbers: NDArray[np.int64], worlds: Worlds) -> NDArray[np.int64]:
        if self.sample:
            return torch.multinomial(logits.softmax(dim=1), 1, generator=self._generator)[:, 0].numpy()
        if not self.repetition_penalty:
            return logits.argmax(dim=1).numpy()
        arrays = {name: torch.as_tensor(each) for name, each in worlds.observe(numbers).specification.items()}
        seen = Observation(arrays, *(torch.empty(0),) * 5)  # the penalty reads the specification only
        return self._penalty.choose(logits.numpy(), seen, numbers)


class Training:
    """A training in a folder; it is begun, or goes on from what was saved."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        torch.set_num_threads(1)
        self.plan, self.folder, self.task = plan, folder, load_task(TASK)()
        self.seconds, self.curve = 0.0, list[dict[str, float]]()
        entries = self._entries()[: -plan.held_out]
        state = _read_state(folder / MODEL) if (folder / MODEL).is_file() else None
        steps = state["steps"] if state else 0
        worlds = self.task.worlds(entries, plan.num_envs, variants=plan.variants)
        self.model = _built(plan, _environments(worlds, (plan.seed + steps) % 2**31))
        if state is not None:
            self._restore(state)

    def _entries(self) -> Sequence[Any]:
        entries: Sequence[Any] = self.task.entries("train")
        if not 0 < self.plan.held_out < len(entries):
            raise DataError(f"held-out {self.plan.held_out}: it must be from 1 to {len(entries) - 1}")
        return entries

    def _restore(self, state: Mapping[str, Any]) -> None:
        own = json.loads(json.dumps(asdict(self.plan)))
        wrong = sorted(name for name in own if own[name] != state["plan"].get(name))
        if wrong:
            raise DataError(
                f"{self.folder}: the training was begun with another {wrong[0]}, {state['plan'].get(wrong[0])}; "
                "resume it with the same, or name another folder"
            )
        _load_weights(self.model, self.folder / MODEL)
        self.model.num_timesteps = state["steps"]
        self.seconds, self.curve = state["seconds"], state["curve"]

    def to_the_end(
        self,
        minutes: float,
        eval_minutes: float = 1.0,
        is_asked: Callable[[], bool] = lambda: False,
        show: Callable[[Mapping[str, float]], None] = lambda line: None,
    ) -> None:
        """Train for so long, evaluations included as in `proto train`; KeyboardInterrupt, when the state is saved, if
        `is_asked` to end."""
        with held(self.folder):
            sweep(self.folder)
            before, since = self.seconds, time.perf_counter()
            while self.seconds < 60 * minutes:
                rollout = self.plan.num_envs * self.model.n_steps
                self.model.learn(rollout, reset_num_timesteps=False)
                self.seconds = before + time.perf_counter() - since
                last = self.curve[-1]["seconds"] if self.curve else 0.0
                if self.seconds >= min(60 * minutes, last + 60 * eval_minutes):
                    completion = self._completion()
                    self.seconds = before + time.perf_counter() - since
                    self.curve.append(
                        {"step": self.model.num_timesteps, "seconds": self.seconds, "completion": completion}
                    )
                    self._save()
                    show(self.curve[-1])
                if is_asked() and self.seconds < 60 * minutes:
                    self._save()
                    raise KeyboardInterrupt
            self._write(TRAINED, self._record())

    def _completion(self) -> float:
        """% of the held-out programs that are finished; evaluated as `proto train` does it."""
        from program_guided.tasks.learners import evaluate_entries

        agent = PolicyAgent(self.model, ALGORITHMS[self.plan.algorithm])
        found = evaluate_entries(self.task, agent, self._entries()[-self.plan.held_out :])
        return float(found["completion"])

    def _save(self) -> None:
        data = io.BytesIO()
        self.model.save(data)
        state = {"steps": self.model.num_timesteps, "seconds": self.seconds, "curve": self.curve}
        with zipfile.ZipFile(data, "a") as archive:
            archive.writestr(STATE, json.dumps({"plan": asdict(self.plan), **state}))
        write_atomically(self.folder / MODEL, data.getvalue())
        write_atomically(self.folder / LOG, "".join(json.dumps(line) + "\n" for line in self.curve).encode("ascii"))

    def _write(self, name: str, record: Any) -> None:
        write_atomically(self.folder / name, (json.dumps(record, indent=1) + "\n").encode("ascii"))

    def _record(self) -> dict[str, Any]:
        """As the worker of an experiment needs it."""
        return {
            "options": asdict(self.plan),
            "parameters": sum(each.numel() for each in self.model.policy.parameters()),
            "minutes": self.seconds / 60,
            "curve": self.curve,
        }


def _read_state(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            state = json.loads(archive.read(STATE))
        return {name: state[name] for name in ("plan", "steps", "seconds", "curve")}
    except (OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: is damaged, or not a training of this command ({error})") from None


def _load_weights(model: Any, path: Path) -> None:
    """Give a model the weights and the optimizer of a file; nothing in it is run."""
    try:
        model.set_parameters(str(path), device="cpu")
    except (OSError, ValueError, RuntimeError, LookupError) as error:
        raise DataError(f"{path}: is damaged, or of another version ({error})") from None


def measure(folder: Path, splits: Sequence[str], **acting: Any) -> dict[str, Any]:
    """By split, figures of a trained policy in the worlds in which `proto evaluate` measures executors."""
    from program_guided.tasks.learners import evaluate_entries

    torch.set_num_threads(1)
    path, task = folder / MODEL, load_task(TASK)()
    plan = Plan(**_read_state(path)["plan"])
    model = _built(plan, _environments(task.worlds(task.entries("train")[:1], 1)))
    _load_weights(model, path)
    found = {}
    for split in splits:
        agent = PolicyAgent(model, ALGORITHMS[plan.algorithm], **acting)
        found[split] = evaluate_entries(task, agent, task.entries(split))
    return found
