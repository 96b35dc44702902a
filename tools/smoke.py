"""Runs every command once, in a tiny form, in a temporary folder: does an installation work?

any/python tools/smoke.py          # tests the program_guided that this interpreter imports
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
QUICK = "--steps 4 --eval-every 4 --held-out 20"
WORLDS = f"{QUICK} --num-envs 8 --variants 2"
COMMANDS = f"""
--version
--help
examples
operations
models
completion bash
check {EXAMPLES}/bridge.prg --table
run {EXAMPLES}/bridge.prg --seed 9 --delay 0 --gif bridge.gif
run {EXAMPLES}/gold_rush.prg --map {EXAMPLES}/river.map --delay 0
run {EXAMPLES}/bag_wine.prg --seed 875 --png bag_wine.png
play --seed 1
evaluate minecraft planner random --tokens 40 --breakdown --save evaluated.json
dataset stats --plot stats.png
dataset stats {EXAMPLES}/lists.py
dataset build visual --out world --scenes 6 2 2 --pictures 1
dataset index visual --root world
dataset stats visual --root world --test val_balanced
evaluate visual oracle --data world
train minecraft --out dense {WORLDS}
evaluate dense --tokens 40 --figure curve.png
train minecraft --target reward --out ppo {WORLDS} --num-steps 4
train minecraft --target reward --algorithm a2c --model paper --out a2c {WORLDS}
train visual --data world --out visual {QUICK} --batch-size 16
train {EXAMPLES}/lists.py --out lists {QUICK}
evaluate lists --breakdown
train {EXAMPLES}/lamps.py --target reward --out lamps {WORLDS} --num-steps 4
features extract --images world/pictures --out world/features.h5
bench world --seconds 0.1 --memory-steps 10000 --batch 16
""".strip().splitlines()
WANDB = f"train {EXAMPLES}/lists.py --out logged --wandb {QUICK}"
MAIN = "import sys; from program_guided.cli.main import main; sys.argv[0] = 'proto'; main()"
PYTHON = """
import gymnasium, program_guided

executor = program_guided.load("minecraft")
assert executor.run("while env[gold] > 0: mine(gold)", seed=2)[-1].outcome == "finished"
assert program_guided.load("visual").run("bag = select(bag)\\nexist(bag)", seed=875).answer
environment = gymnasium.make("ProgramGuided/Minecraft-v0", render_mode="rgb_array")
environment.reset(seed=0, options={"program": "mine(gold); sell(gold)"})
environment.step(0)
environment.render()
gymnasium.make_vec("ProgramGuided/Minecraft-v0", num_envs=4).reset(seed=0)
"""


def main() -> int:
    """0 if everything works."""
    lines = COMMANDS + [WANDB] * (importlib.util.find_spec("wandb") is not None)
    tried = [("proto " + line, [sys.executable, "-c", MAIN, *line.split()]) for line in lines]
    tried.append(("from Python", [sys.executable, "-c", PYTHON]))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"WANDB_MODE": "offline", "XDG_CONFIG_HOME": f"{folder}/config"}
        for name, command in tried:
            began = time.monotonic()
            done = subprocess.run(command, cwd=folder, input="mwq", capture_output=True, text=True, env=environment)
            left = name.startswith("proto play") and done.returncode == 1  # the program is not finished
            works = (done.returncode == 0 or left) and "Traceback" not in done.stderr
            shown = name.replace(f"{EXAMPLES}/", "")
            print(f"{'works' if works else 'FAILS'} {time.monotonic() - began:6.1f} s  {shown}", flush=True)
            if not works:
                failed += 1
                print(done.stdout[-2000:] + done.stderr[-3000:], flush=True)
    print(f"{len(tried) - failed} of {len(tried)} work")
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
