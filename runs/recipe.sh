#!/bin/sh
# What is each part of the recipe for learning from reward worth?
proto experiment run recipe --seeds 1 "$@"
