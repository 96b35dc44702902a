#!/bin/sh
# What does a user get who takes PPO of Stable-Baselines3, on the same environment, instead of an executor?
proto experiment run instead --seeds 1 "$@"
