"""The client's side: one class for both eras and every transport."""

from mcpsim.client.client import Client
from mcpsim.client.http import HttpWire
from mcpsim.client.listening import Subscription
from mcpsim.client.stdio import StdioWire
from mcpsim.client.wire import Reply, Wire

__all__ = ["Client", "HttpWire", "Reply", "StdioWire", "Subscription", "Wire"]
