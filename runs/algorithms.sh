#!/bin/sh
# Is it the executor or the learning algorithm, and what does A2C need?
proto experiment run algorithms --seeds 1 "$@"
