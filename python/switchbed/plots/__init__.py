"""Figures by name (`command`), from runs gathered into lines (`runs`), each kind in a file, with
one look a scheme (`style`)."""
