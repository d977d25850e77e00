"""Tokens (JWT) for tests, signed by the openssl command, and the key files of their issuers."""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import time

ISSUER = "https://id.example/"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    done = subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def raw_signature(der, half=32):
    """r and s of an ECDSA-Sig-Value, one behind the other."""
    at, numbers = 2, []
    for _ in range(2):
        size = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + size], "big").to_bytes(half, "big"))
        at += 2 + size
    return b"".join(numbers)


class Issuer:
    """Signs with one algorithm: RS256, PS256, ES256, EdDSA, or HS256 with a secret. `keys`: the engine's key file."""

    MAKE = {"RS256": ("-algorithm", "RSA"), "PS256": ("-algorithm", "RSA"), "EdDSA": ("-algorithm", "ED25519"),
            "ES256": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")}

    def __init__(self, folder, algorithm="ES256", kid=None):
        self.folder, self.algorithm, self.kid = pathlib.Path(folder), algorithm, kid
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys = self.folder / "keys"
        self.private = self.folder / "private.pem"
        self.new_key()

    def new_key(self):
        """Another key from now on; the key file has it alone."""
        self.kid = f"{self.kid or ''}k"
        if self.algorithm == "HS256":
            self.secret = hashlib.sha512(str(time.monotonic_ns()).encode()).digest()
            self.keys.touch(0o600)
            self.keys.write_text(json.dumps({"keys": [{"kty": "oct", "kid": self.kid, "k": encode(self.secret)}]}))
            return
        openssl("genpkey", *self.MAKE[self.algorithm], "-out", self.private)
        if self.algorithm == "ES256":  # as a JWKS; the others as PEM
            point = openssl("pkey", "-in", self.private, "-pubout", "-outform", "DER")[-64:]
            jwk = {"kty": "EC", "crv": "P-256", "x": encode(point[:32]), "y": encode(point[32:]), "kid": self.kid}
            self.keys.write_text(json.dumps({"keys": [jwk]}))
        else:
            self.keys.write_bytes(openssl("pkey", "-in", self.private, "-pubout"))

    def sign(self, text):
        if self.algorithm == "HS256":
            return hmac.digest(self.secret, text, "sha256")
        if self.algorithm == "EdDSA":
            message = self.folder / "message"
            message.write_bytes(text)
            return openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.private, "-in", message)
        pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if self.algorithm == "PS256" else []
        signature = openssl("dgst", "-sha256", "-sign", self.private, *pss, data=text)
        return raw_signature(signature) if self.algorithm == "ES256" else signature

    def token(self, header=None, **claims):
        """Good for a minute, for the audience "shop"; a claim that is None is left out."""
        claims = {"iss": ISSUER, "sub": "alice", "aud": "shop", "exp": int(time.time()) + 60, **claims}
        header = header or {"alg": self.algorithm, "typ": "JWT", "kid": self.kid}
        parts = [header, {name: value for name, value in claims.items() if value is not None}]
        text = ".".join(encode(json.dumps(part).encode()) for part in parts)
        return f"{text}.{encode(self.sign(text.encode()))}"


def bearer(token):
    return [("authorization", f"Bearer {token}")]
