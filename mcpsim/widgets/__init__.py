"""Pictures of a run: the player, its still picture, the page that needs nothing else, and the bench.

The pure functions that make the data are in `view` and `still`; the widget is a thin shell over them.
"""

from mcpsim.widgets.bench import Bench
from mcpsim.widgets.cache_timeline import CacheTimeline
from mcpsim.widgets.compare import Comparison
from mcpsim.widgets.elicitation_form import ElicitationForm
from mcpsim.widgets.era_matrix import EraMatrix
from mcpsim.widgets.error_map import ErrorMap
from mcpsim.widgets.layers import Layers
from mcpsim.widgets.message_lab import MessageLab
from mcpsim.widgets.pagination_explorer import PaginationExplorer
from mcpsim.widgets.player import Player, display_bundle
from mcpsim.widgets.progress_bars import ProgressBars
from mcpsim.widgets.standalone import standalone_html
from mcpsim.widgets.still import still_html, still_svg
from mcpsim.widgets.view import player_data

__all__ = [
    "Bench",
    "CacheTimeline",
    "Comparison",
    "ElicitationForm",
    "EraMatrix",
    "ErrorMap",
    "Layers",
    "MessageLab",
    "PaginationExplorer",
    "Player",
    "ProgressBars",
    "display_bundle",
    "player_data",
    "standalone_html",
    "still_html",
    "still_svg",
]
