"""Every scheme on the same fabrics and workloads: runs the scenarios beside this file, keeps small
summaries, finds which schemes no other beats, draws and writes the page."""
