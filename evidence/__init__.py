"""Evidence behind the figures of the documentation: comparisons with other simulators (`peers`) and
other hosts (`hosts`), attempts to break the program (`robustness`), costs (`bench`). Scripts run
from the root of the tree: `python -m evidence.peers.offered`. Each has an entry in `results.json`
beside it, if it keeps results; `make site` makes pages of them."""
