"""Measurements that `proto bench` runs: figures beside a peer's or a naive form's, in one run."""
