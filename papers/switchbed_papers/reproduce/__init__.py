"""`switchbed reproduce`: runs the papers' experiments again and judges each of their claims.

A paper is a folder of `switchbed_papers`: `hosts.toml`, scenario files, `claims.toml` and, where
the built-in measures do not do, `measure.py`. `claims` reads it, `hosts` puts declared hosts under
its set-ups, `experiment` runs and keeps what has run, `evidence` has the committed rows, `measures`
turns runs into a number with its interval, `verdict` has the one rule, `findings` applies it under
each profile, `page` prints the page.
"""
