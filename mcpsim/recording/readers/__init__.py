"""Readers of traces: our own two forms, and what other tools write.

`read_trace` tells the format by what is in the file:

| format | what it is |
|---|---|
| `recording` | a recording that mcpsim saved |
| `interchange` | the interchange form: one row a line |
| `json-rpc` | JSON-RPC messages, one a line, with or without a sign of direction |
| `inspector` | an export of the MCP Inspector: its protocol or its network list |
| `har` | a HAR file of a browser or a proxy |
| `claude-desktop` | a log of Claude Desktop |
| `vscode` | the output of a server in VS Code |
| `python-sdk` | a debug log of the official Python SDK |
"""

from mcpsim.recording.readers.model import ReadTrace, Skipped
from mcpsim.recording.readers.reading import FORMATS, read_trace

__all__ = ["FORMATS", "ReadTrace", "Skipped", "read_trace"]
