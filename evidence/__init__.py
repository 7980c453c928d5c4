"""What the documentation's figures rest on: beside other simulators (`peers`), beside other hosts
(`hosts`), what is tried to break it (`robustness`), what it costs (`bench`). Run from the root of
the tree: `python -m evidence.peers.offered`. Results stand beside the scripts; `make site` makes
pages of them."""
