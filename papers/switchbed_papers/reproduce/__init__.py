"""`switchbed reproduce`: runs the papers' experiments again and judges each of their claims.

A paper is a folder of `switchbed_papers`: `setup.toml`, scenario files, `claims.toml` and, where
the built-in measures do not do, `measure.py`. `claims` reads it, `setup` puts the joint set-up
under its scenarios, `places` checks what it quotes by the papers' `places.json`,
`search` chooses what the paper leaves open, `experiment` runs and keeps what has run, `evidence`
has the committed rows, `measures` turns runs into a number with its interval, `verdict` has the one
rule, `findings` applies it under each reading, `why` names classes and causes, `page` prints the
page.
"""
