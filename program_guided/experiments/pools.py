"""Places where runs are worked on: local processes, or tasks on a Ray cluster."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any, Protocol

from program_guided.errors import DataError
from program_guided.experiments.runs import OUTPUT
from program_guided.experiments.worker import FAILED, STOPPED, Job, environment, python_path, work

__all__ = ["LocalPool", "Pool", "RayPool", "cores"]

RAY_MISSING = "ray is not installed; install it with: pip install 'program_guided[cluster]'"
SECONDS_TO_SAVE = 120.0
"""Seconds in which interrupted trainings may save their state."""


class Pool(Protocol):
    """Workers, each with one run at a time."""

    def free(self) -> bool:
        """Whether another run can be started."""

    def start(self, job: Job) -> None: ...
    def ended(self) -> list[tuple[Job, int]]:
        """Jobs that have ended since the last call, with their exit codes."""

    def stop(self) -> None:
        """Interrupt all runs that have not ended, and wait until their states are saved."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class LocalPool:
    """Processes on this machine."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._running: list[tuple[Job, subprocess.Popen[bytes]]] = []

    def free(self) -> bool:
        return len(self._running) < self._workers

    def start(self, job: Job) -> None:
        job.path.mkdir(parents=True, exist_ok=True)
        with (job.path / OUTPUT).open("ab") as output:
            command = [sys.executable, "-m", "program_guided.experiments.worker", job.as_json()]
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                start_new_session=True,  # Ctrl-C reaches it through `stop` alone
            )
        self._running.append((job, process))

    def ended(self) -> list[tuple[Job, int]]:
        codes = [(job, process, process.poll()) for job, process in self._running]
        self._running = [(job, process) for job, process, code in codes if code is None]
        return [(job, code) for job, _, code in codes if code is not None]

    def stop(self) -> None:
        for _, process in self._running:
            process.terminate()
        for _, process in self._running:
            try:
                process.wait(SECONDS_TO_SAVE)
            except subprocess.TimeoutExpired:
                process.kill()


class RayPool:
    """Tasks on a Ray cluster, one core each. A task that is lost with its node is started again on another one, and
    finds what it had saved in the shared folder."""

    def __init__(self, address: str | None, workers: int | None, retries: int) -> None:
        self._ray = connected(address)
        self._task = self._ray.remote(num_cpus=1, max_retries=retries, retry_exceptions=False)(_work_on_node)
        self._workers = workers
        self._running: dict[Any, Job] = {}

    def free(self) -> bool:
        return self._workers is None or len(self._running) < self._workers

    def start(self, job: Job) -> None:
        self._running[self._task.remote(job)] = job

    def ended(self) -> list[tuple[Job, int]]:
        if not self._running:
            return []
        every = list(self._running)
        ready, _ = self._ray.wait(every, num_returns=len(every), timeout=0)
        return [(self._running.pop(each), self._code(each)) for each in ready]

    def _code(self, task: Any) -> int:
        try:
            return int(self._ray.get(task))
        except self._ray.exceptions.TaskCancelledError:
            return STOPPED
        except self._ray.exceptions.RayError:  # its node was lost too often, or the task could not begin there
            return FAILED

    def stop(self) -> None:
        for task in self._running:
            self._ray.cancel(task)
        if self._running:
            self._ray.wait(list(self._running), num_returns=len(self._running), timeout=SECONDS_TO_SAVE)
        self._ray.shutdown()


def _work_on_node(job: Job) -> int:
    """Finish a run on a node of the cluster."""
    import ray

    return work(replace(job, node=ray.get_runtime_context().get_node_id()))


def connected(address: str | None) -> Any:
    """Ray, connected to a cluster; one clear error if it is not installed or there is none."""
    try:
        import ray
    except ModuleNotFoundError:
        raise DataError(RAY_MISSING) from None
    asked = address or os.environ.get("RAY_ADDRESS", "auto")
    variables = {"env_vars": {"PYTHONPATH": python_path()}}
    try:
        ray.init(address=asked, logging_level=logging.ERROR, log_to_driver=False, runtime_env=variables)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError, OSError) as error:
        reason = str(error).split("\n")[0]
        raise DataError(
            f"no Ray cluster at {asked!r} ({reason}); start one with: ray start --head, and name its address"
        ) from None
    return ray
