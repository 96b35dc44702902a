"""Measurements that `proto bench` runs: figures, beside a peer or a naive form in the same run. No test times anything."""
