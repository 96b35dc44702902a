#!/bin/sh
# Does the structure guidance matter where routines need the results of others?
proto experiment run data_flow --seeds 3 "$@"
