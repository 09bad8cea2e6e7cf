"""Pure parts that both sides of the protocol use: no I/O, no clock. Times are passed in."""
