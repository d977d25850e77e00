"""Keys and certificates for tests, made by the openssl command: an authority, servers, clients."""

import pathlib
import subprocess

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
RSA = ["-newkey", "rsa:2048"]


class Authority:
    """A root and what it signs, in a folder: NAME.pem, NAME.key."""

    def __init__(self, folder, name="ca"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._openssl("req", "-x509", *CURVE, "-nodes", "-days", "30", "-subj", f"/CN={name}",
                      "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", self.key(name), "-out", self.pem(name))

    def pem(self, name=None):
        return self.folder / f"{name or self.name}.pem"

    def key(self, name=None):
        return self.folder / f"{name or self.name}.key"

    def sign(self, name, subject=None, alternative="", kind=CURVE):
        """(key file, certificate file) for that name; `alternative` as openssl's subjectAltName has it."""
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text("basicConstraints=CA:FALSE\n" +
                              (f"subjectAltName={alternative}\n" if alternative else ""))
        self._openssl("req", *kind, "-nodes", "-subj", subject or f"/CN={name}", "-keyout", self.key(name),
                      "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.pem(), "-CAkey", self.key(), "-CAcreateserial",
                      "-days", "30", "-extfile", extensions, "-out", self.pem(name))
        return self.key(name), self.pem(name)

    @staticmethod
    def _openssl(*arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
