#!/bin/sh
# How large is each model, beside the paper's?
proto experiment run architecture_minecraft --seeds 1 "$@"
