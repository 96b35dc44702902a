#!/bin/sh
# How long are the programs of each split, and does completion fall with their length?
proto experiment run program_lengths --seeds 1 "$@"
