"""A relay that counts: clients' libraries do not tell which messages were compressed, their size on the wire does."""

import socket
import threading


class Relay:
    """Passes bytes on between one client's connections and the server, and counts them: `up` and `down`."""

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.up = self.down = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            threading.Thread(target=self._pass, args=(client, server, "up"), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, "down"), daemon=True).start()

    def _pass(self, source, to, counter):
        try:
            while part := source.recv(1 << 16):
                setattr(self, counter, getattr(self, counter) + len(part))
                to.sendall(part)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()
