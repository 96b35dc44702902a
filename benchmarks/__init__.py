"""Measurements that `proto bench` runs: figures beside a peer's or a naive form's, in one run.

A benchmark is a module with `print_figures` and `Options`: a dataclass of its options, whose method `measure(show)`
gives the figures. `show` is called with what is done, how much of it, and of how much.
"""

__all__ = ["BENCHMARKS"]

BENCHMARKS = {
    "world": ("benchmarks.world", "the 2D Minecraft world on one core, beside MiniGrid and EnvPool"),
    "executor": (
        "benchmarks.executor",
        "the network on one core, by program length, against its plain forms and beside torch's decoder",
    ),
    "learn": ("benchmarks.learn", "learning from reward on all cores, beside Stable-Baselines3"),
    "easy": ("benchmarks.easy", "Stable-Baselines3's PPO learns programs of one routine, on one core (ten minutes)"),
    "visual": (
        "benchmarks.reasoning",
        "reasoning about pictures on one core, in parallel or one routine at a time, reading their features, and "
        "indexing questions on all cores (about ten minutes)",
    ),
    "gqa": (
        "benchmarks.gqa",
        "the paper's executor learning from features of the release's size, on one core (about three minutes, 8 GB of "
        "memory)",
    ),
    "ask": ("benchmarks.asking", "questions that a parser reads in a second, constrained to programs and not"),
}
"""Name -> (module, what it measures)."""
