"""Evidence behind the figures of the documentation: comparisons with other simulators (`peers`) and
other hosts (`hosts`), attempts to break the program (`robustness`), costs (`bench`). Scripts run
from the root of the tree: `python -m evidence.peers.offered`. Each keeps its results in `results/`
beside it; `make site` makes pages of them."""
