"""The program that is started in the place of a server: see `tests/support/warm_servers.py`.

    python -I -S start_warm.py SOCKET IMPORTS WORDS...

It lets the process that listens at SOCKET fork a server which has this process's streams, folder and
environment, passes signals on to it, and ends as it ends. It imports little: its start is all that it costs.
"""

import json
import os
import signal
import sys
from socket import AF_UNIX, MSG_WAITALL, send_fds, socket

LENGTH = 4
PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def number(connection: socket) -> int:
    data = connection.recv(LENGTH, MSG_WAITALL)
    if len(data) < LENGTH:
        sys.exit("The process that forks servers is gone.")
    return int.from_bytes(data, "big", signed=True)


def main(place: str, imports: str, *words: str) -> None:
    # The server may be there, and somebody may signal it, before this process knows its number.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    with socket(AF_UNIX) as nursery:
        nursery.connect(place)
        wanted = {"imports": imports.split(), "words": words, "cwd": os.getcwd(), "env": dict(os.environ)}
        text = json.dumps(wanted).encode()
        send_fds(nursery, [len(text).to_bytes(LENGTH, "big")], [0, 1, 2])
        nursery.sendall(text)
        # They are the server's alone: when it closes them, the other end has to see it.
        nothing = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nothing, each)
        pid = number(nursery)
        for one in PASSED_ON:
            signal.signal(one, lambda one, frame: os.kill(pid, one))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        code = number(nursery)
    if code < 0:
        for one in PASSED_ON:
            signal.signal(one, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
