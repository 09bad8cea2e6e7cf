"""Stories on a virtual clock."""

from mcpsim.recording.run import Run
from mcpsim.simulation.loop import VirtualTimeLoop
from mcpsim.simulation.simulate import Simulation, simulate

__all__ = ["Run", "Simulation", "VirtualTimeLoop", "simulate"]
