"""An HTTP intermediary between clients and the replicas of a server."""
