#!/bin/sh
# What is each addition to the paper's equations worth, in a short training by the planner?
proto experiment run additions --seeds 1 "$@"
