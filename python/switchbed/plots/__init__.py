"""Figures by name (`command`), from runs gathered into lines (`runs`), each kind in a file, with
one look a scheme (`style`)."""

from switchbed.plots.fct import PANELS, fct_over_load
from switchbed.plots.style import OTHERS, PLAIN, STYLES, Style, styles

__all__ = ["OTHERS", "PANELS", "PLAIN", "STYLES", "Style", "fct_over_load", "styles"]
