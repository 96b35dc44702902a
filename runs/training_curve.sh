#!/bin/sh
# How fast does each model learn from reward alone?
proto experiment run training_curve --seeds 3 "$@"
