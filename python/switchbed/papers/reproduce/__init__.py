"""`switchbed reproduce`: runs the papers' experiments again and judges each of their claims.

A paper is a folder of `switchbed/papers`: scenario files, `claims.toml` and, where the built-in
measures do not do, `measure.py`. `claims` reads it, `experiment` runs and keeps what has run,
`measures` turns runs into a number with its interval, `verdict` has the one rule, `page` writes
docs/reproductions.md from committed results.
"""
