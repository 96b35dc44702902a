#!/bin/sh
# What is each part of `plus` worth, learning from reward alone?
proto experiment run parts --seeds 1 "$@"
