"""The two eras of the protocol. The only room that names a protocol revision."""
