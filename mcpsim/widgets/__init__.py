"""Pictures of a run: the player, its still picture, and the page that needs nothing else.

The pure functions that make the data are in `view` and `still`; the widget is a thin shell over them.
"""

from mcpsim.widgets.player import Player, display_bundle
from mcpsim.widgets.standalone import standalone_html
from mcpsim.widgets.still import still_html, still_svg
from mcpsim.widgets.view import player_data

__all__ = ["Player", "display_bundle", "player_data", "standalone_html", "still_html", "still_svg"]
