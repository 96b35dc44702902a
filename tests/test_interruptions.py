"""A training that is killed or interrupted loses nothing: resumed, it ends with the same bytes."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from program_guided import Task, operation, readers
from program_guided.errors import DataError
from program_guided.files import held
from program_guided.learning.settings import SupervisedSettings
from program_guided.learning.trainer import Job, train
from program_guided.models.config import PlusConfig

TINY = {"word_width": 8, "hidden": 16, "heads": 2, "blocks": 1}
TIMES = {"minutes", "seconds", "samples a second", "sha256"}


class Killed(BaseException):
    """As sudden as a signal that cannot be caught."""


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


def job(folder, **changes):
    torch.set_num_threads(1)
    settings = SupervisedSettings(steps=9, eval_every=3, batch_size=8, warmup=2)
    task = Signs(held_out=5)
    return Job(task, "plus", PlusConfig(**TINY), task.reader_config, settings, folder, **changes)


def content(folder):
    """All that a run has written, without times."""
    config = json.loads((folder / "config.json").read_text())
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return (folder / "model.safetensors").read_bytes(), _timeless(config), _timeless(log)


def _timeless(value):
    if isinstance(value, dict):
        return {name: _timeless(each) for name, each in value.items() if name not in TIMES}
    return [_timeless(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(job(folder))
    return content(folder)


def test_killed_at_any_rename_and_resumed_it_ends_with_the_same_bytes(tmp_path, whole, monkeypatch):
    renames, rename = 0, Path.replace

    def count(path, target):
        nonlocal renames
        renames += 1
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", count)
    train(job(tmp_path / "counted"))
    assert renames >= 10, "the log, and three saves of three files"
    for last in range(renames):
        left, folder = last, tmp_path / str(last)

        def kill(path, target):
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return rename(path, target)

        monkeypatch.setattr(Path, "replace", kill)
        with pytest.raises(Killed):
            train(job(folder))
        monkeypatch.setattr(Path, "replace", rename)
        begun = (folder / "training.safetensors").is_file()
        train(job(folder, resume=begun))
        assert content(folder) == whole, f"killed at rename {last}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("at", [1, 3, 4])
def test_interrupted_it_saves_and_goes_on(at, number, tmp_path, whole):
    def interrupt(moment):
        if moment.step == at:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        train(job(tmp_path), interrupt)
    assert signal.getsignal(number) is before
    steps = []
    train(job(tmp_path, resume=True), lambda moment: steps.append(moment.step))
    assert steps[0] == at + 1, "nothing is done twice"
    assert content(tmp_path) == whole


def test_a_second_interrupt_is_not_waited_for(tmp_path):
    def interrupt(moment):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(job(tmp_path), interrupt)
    assert not (tmp_path / "training.safetensors").exists()


def test_every_point_of_the_curve_is_in_tensorboard_once(tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from program_guided.learning import trainer

    add = trainer._Log.add

    def killed_before_the_log(self, line):
        if line["step"] == 6:
            raise Killed
        add(self, line)

    monkeypatch.setattr(trainer._Log, "add", killed_before_the_log)
    with pytest.raises(Killed):
        train(job(tmp_path))
    monkeypatch.setattr(trainer._Log, "add", add)
    train(job(tmp_path, resume=True))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [each.step for each in events.Scalars("completion")] == [3, 6, 9]


def test_a_folder_is_written_to_by_one_training_at_a_time(tmp_path):
    with held(tmp_path), pytest.raises(DataError, match=rf"process {os.getpid()} .* is writing to it"):
        train(job(tmp_path))
    train(job(tmp_path))
    assert not (tmp_path / ".lock").exists()


def test_temporary_files_of_the_dead_are_swept(tmp_path):
    (tmp_path / ".model.safetensors.1.tmp").write_bytes(b"half")
    train(job(tmp_path))
    assert not list(tmp_path.glob(".*.tmp"))
