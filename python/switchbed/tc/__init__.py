"""Linux's queueing disciplines: a scenario as a script of `tc` (`exporting`), and what `tc` shows
as a scenario (`importing`)."""
