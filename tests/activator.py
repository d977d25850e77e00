#!/usr/bin/env python3
"""Starts a program as systemd's socket activation does: with listening sockets from descriptor 3 on.

    activator.py ADDRESS[=NAME] ... -- PROGRAM [ARGUMENT ...]

ADDRESS is HOST:PORT, unix:PATH or dgram:HOST:PORT. LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES are as sd_listen_fds(3)
has them.
"""

import os
import socket
import sys

FIRST = 3


def bound(address):
    if address.startswith("unix:"):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.bind(address.removeprefix("unix:"))
    elif address.startswith("dgram:"):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        host, port = address.removeprefix("dgram:").rsplit(":", 1)
        made.bind((host, int(port)))
        return made
    else:
        host, port = address.rsplit(":", 1)
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, int(port)))
    made.listen(64)
    return made


def main():
    cut = sys.argv.index("--")
    wanted = [text.partition("=") for text in sys.argv[1:cut]]
    # First above the places that they get, so that none is overwritten.
    sockets = [os.dup2(bound(address).detach(), FIRST + len(wanted) + i) for i, (address, _, _) in enumerate(wanted)]
    for i, number in enumerate(sockets):
        os.dup2(number, FIRST + i, inheritable=True)
    for number in sockets:
        os.close(number)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(wanted)),
                      LISTEN_FDNAMES=":".join(name for _, _, name in wanted))
    os.execv(sys.argv[cut + 1], sys.argv[cut + 1:])


if __name__ == "__main__":
    main()
