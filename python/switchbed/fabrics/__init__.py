"""Every scheme on the same fabrics and workloads: runs `comparisons/fabrics/`, keeps small
summaries, finds which schemes no other beats, draws and writes docs/fabrics.md."""
