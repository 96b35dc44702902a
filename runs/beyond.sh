#!/bin/sh
# Does an executor go on where training ended: maps of side 10 and 12 instead of 8, 200 tokens instead of 80, comparisons with numbers above 4?
proto experiment run beyond --seeds 3 "$@"
