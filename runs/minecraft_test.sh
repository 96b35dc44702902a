#!/bin/sh
# Which model executes programs best, all trained by the same algorithm, from reward alone and from a planner?
proto experiment run minecraft_test --seeds 3 "$@"
