#!/bin/sh
# Does an executor, trained from reward without names, execute routines that no training program has?
proto experiment run generalization_minecraft --seeds 3 "$@"
