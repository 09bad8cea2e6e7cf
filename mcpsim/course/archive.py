"""Recordings of real peers that come with the course."""

from __future__ import annotations

from importlib.resources import files

from mcpsim.recording import Recording


def recorded(name: str) -> Recording:
    """A recording that comes with the course, such as "sdk_server_legacy".

    Raises:
        LookupError: there is none of that name; the text says which there are.
        RecordingError: the file cannot be read as a recording.
    """
    folder = files("mcpsim.course").joinpath("recordings")
    known = (
        {entry.name.removesuffix(".jsonl"): entry for entry in folder.iterdir()} if folder.is_dir() else {}
    )
    if name not in known:
        names = ", ".join(sorted(known)) or "none at all"
        raise LookupError(f"There is no recording of the name {name!r}. The recordings are: {names}.")
    return Recording.from_jsonl(known[name].read_bytes())
