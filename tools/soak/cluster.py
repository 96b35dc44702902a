"""Kills a node of a Ray cluster in the middle of an experiment: nothing is lost, nothing run twice.

    python tools/soak/cluster.py --count 3

A cluster of two nodes on this machine's loopback (127.0.0.1) works on an experiment of two tiny trainings. One node is
killed by SIGKILL while a training runs there; Ray starts the run again on the other node, where it is resumed from its
last checkpoint. The first time all processes of the node are killed, as by a power cut, the next time its raylet alone:
its worker ends when it notices, and may finish its run before. The weights at the end are compared with those of an
undisturbed run in local processes. Needs the extra `cluster`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["EXPERIMENT", "soak"]

ROOT = Path(__file__).resolve().parents[2]
TASK = """
from program_guided import Task, operation, readers


class Signs(Task):
    name = "signs"
    reader = readers.Sequence(values=4)

    def encode(self, numbers):
        return {"items": numbers}

    def examples(self, split):
        for number in range(40):
            yield "largest_is_last()", [number % 4, number // 4 % 4]

    @operation
    def largest_is_last(self, numbers) -> bool:
        return numbers[-1] == max(numbers)
"""
TINY = "--word-width 8 --hidden 16 --heads 2 --blocks 1 --batch-size 8 --held-out 5 --steps 144 --eval-every 12"
EXPERIMENT = "soak"
RUNS = 2
MAIN = f"""
import sys
from program_guided.experiments import EXPERIMENTS, Experiment, Measure, Row
row = Row("plus", ("signs.py", *{TINY!r}.split()))
EXPERIMENTS[{EXPERIMENT!r}] = Experiment(
    {EXPERIMENT!r}, "Soak", "Does it end?", (row,), (Measure("answers"),), seeds={RUNS}, score="accuracy"
)
from program_guided.cli.main import main
sys.argv[0] = "proto"
main()
"""
SYSTEM = {"health_check_period_ms": 500, "health_check_timeout_ms": 1000, "health_check_failure_threshold": 2}
"""A node that is killed is noticed within seconds."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Variables with which Ray takes 127.0.0.1 for the address of this machine, and reports to nobody."""
SECONDS = 120.0


def proto(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command that knows the experiment."""
    given = ["experiment", "run", EXPERIMENT, "--docs", ".", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(place / "config"), **LOOPBACK}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", MAIN, *given]
    return subprocess.Popen(command, cwd=place, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment)


def ended(process: subprocess.Popen[str]) -> None:
    """Wait for a command; an error if it fails."""
    said, _ = process.communicate(timeout=SECONDS)
    if process.returncode or "Traceback" in said:
        raise RuntimeError(f"exit code {process.returncode}: {said[-2000:]}")


@contextmanager
def cluster() -> Iterator[Any]:
    """Two nodes on the loopback, each with a core; and a head, which has none."""
    os.environ |= LOOPBACK
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "node_ip_address": "127.0.0.1", "include_dashboard": False, "_system_config": SYSTEM}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield made
    finally:
        made.shutdown()


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Lines of JSON that are complete; none if there is no file."""
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
    except OSError:
        return []


def running(out: Path, node: str) -> list[Path]:
    """Runs whose training is in its middle on a node."""
    found = []
    for path in out.glob("*/starts.jsonl"):
        here = lines_of(path)[-1].get("node") == node
        logged = lines_of(path.parent / "training" / "log.jsonl")
        if here and logged and not (path.parent / "trained.json").is_file():
            found.append(path.parent)
    return found


def descendants(process: int) -> Iterator[int]:
    """A process and all that it started, itself last."""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in path.read_text("ascii").split():
            yield from descendants(int(child))
    yield process


def kill_in_the_middle(node: Any, out: Path, delay: float, whole: bool) -> Path:
    """Kill a node (or its raylet alone) while a training runs there; the folder of that run."""
    deadline = time.monotonic() + SECONDS
    while not (hit := running(out, node.node_id)):
        if time.monotonic() > deadline:
            raise RuntimeError("no training began on the node")
        time.sleep(0.02)
    time.sleep(delay)
    raylet = node.all_processes["raylet"][0].process.pid
    for process in list(descendants(raylet)) if whole else [raylet]:
        os.kill(process, signal.SIGKILL)
    return hit[0]


def problems(out: Path, expected: Path) -> list[str]:
    """Everything that is not as after an undisturbed run."""
    found = []
    folders = sorted(path.parent for path in out.glob("*/run.json"))
    if [folder.name for folder in folders] != sorted(path.parent.name for path in expected.glob("*/run.json")):
        found.append(f"{len(folders)} runs instead of {RUNS}")
    for folder in folders:
        commands = [each["command"] for each in lines_of(folder / "starts.jsonl")]
        begun = [each for each in commands if " train " in each and "--resume" not in each]
        measured = [each for each in commands if " evaluate " in each]
        if (len(begun), len(measured)) != (1, 1):
            found.append(f"{folder.name}: begun {len(begun)} times, measured {len(measured)} times")
        weights = [each / "training" / "model.safetensors" for each in (folder, expected / folder.name)]
        if weights[0].read_bytes() != weights[1].read_bytes():
            found.append(f"{folder.name}: other weights")
    return found


def moved(folder: Path) -> bool:
    """Whether a run was resumed on another node."""
    starts = [each for each in lines_of(folder / "starts.jsonl") if " train " in each["command"]]
    return len({each["node"] for each in starts}) == 2 and starts[-1]["command"].endswith("--resume")


def soak(place: Path, delays: list[float]) -> list[str]:
    """Kill a node for each delay, in seconds after a checkpoint; what went wrong."""
    (place / "signs.py").write_text(TASK)
    ended(proto(place, "--out", "whole", "--results", "whole/results"))
    found = []
    for number, delay in enumerate(delays):
        wrong = killed_once(place, place / f"killed-{number}", delay, whole=number % 2 == 0)
        print(f"kill {number}, {delay:.1f} s after a checkpoint: {'; '.join(wrong) or 'good'}", flush=True)
        found += wrong
    return found


def killed_once(place: Path, out: Path, delay: float, whole: bool) -> list[str]:
    """The experiment with one node killed; what went wrong."""
    with cluster() as made:
        nodes = [made.add_node(num_cpus=1, node_ip_address="127.0.0.1") for _ in range(2)]
        where = ("--out", out.name, "--results", f"{out.name}/results", "--on", "ray", "--address", made.address)
        process = proto(place, *where)
        try:
            hit = kill_in_the_middle(nodes[1], out, delay, whole)
            ended(process)
        finally:
            process.kill()
    lines = lines_of(out / "results" / f"{EXPERIMENT}.jsonl")
    wrong = [f"{len(lines)} lines of results"] if len(lines) != RUNS else []
    wrong += [f"{hit.name}: was not resumed on another node"] if whole and not moved(hit) else []
    return wrong + problems(out, place / "whole")


def main() -> int:
    """1 if anything was lost or run twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3, help="nodes to kill, one at a time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        return int(bool(soak(Path(folder), [source.uniform(0, 0.4) for _ in range(options.count)])))


if __name__ == "__main__":
    sys.exit(main())
