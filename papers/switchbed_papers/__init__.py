"""The papers: their experiments run again and judged, every scheme on the same fabrics, the papers'
testbeds as labs, and the pictures of the documentation.

A paper is a folder here. The product knows nothing of this; `commands` reaches the command line by
entry points.
"""
