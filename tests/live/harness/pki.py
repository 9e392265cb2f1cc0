# SPDX-License-Identifier: Apache-2.0
"""Certificates of one run of the suite, made with the openssl command."""

import os
import subprocess

NAMES = ("DNS:*.routes.test, DNS:routes.test, DNS:localhost, IP:127.0.0.1, IP:127.0.1.1, IP:::1, "
         "IP:10.77.0.1")

_CONFIG = """
[req]
distinguished_name = dn
prompt = no
[dn]
CN = {name}
[ca]
default_ca = authority
[authority]
new_certs_dir = {folder}
database = {folder}/index.txt
serial = {folder}/serial
default_md = sha256
policy = any
unique_subject = no
[any]
CN = supplied
[v3_ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[v3_leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {names}
"""


def _openssl(*arguments):
    result = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {result.stderr.strip()}")


class Pki:
    """Paths of PEM files in `folder`. A leaf's file holds its certificate, then its key."""

    def __init__(self, folder):
        self.folder = folder
        self.ca = self._path("ca.pem")
        self.other_ca = self._path("other-ca.pem")
        self.client_ca = self._path("client-ca.pem")
        self.good = self._path("good.pem")
        self.untrusted = self._path("untrusted.pem")
        self.expired = self._path("expired.pem")
        self.wrong_name = self._path("wrong-name.pem")
        self.client = self._path("client.pem")

    def _path(self, name):
        return os.path.join(self.folder, name)

    def make(self):
        os.makedirs(self.folder, exist_ok=True)
        for name in ("ca", "other-ca", "client-ca"):
            self._authority(name)
        self._leaf("good", "ca", NAMES)
        self._leaf("untrusted", "other-ca", NAMES)
        self._leaf("expired", "ca", NAMES, "20200101000000Z", "20200201000000Z")
        self._leaf("wrong-name", "ca", "DNS:elsewhere.invalid")
        self._leaf("client", "client-ca", "DNS:client.routes.test")
        return self

    def _config(self, name, names=NAMES):
        folder = self._path(f"{name}.d")
        os.makedirs(folder, exist_ok=True)
        path = self._path(f"{name}.cnf")
        with open(path, "w", encoding="ascii") as file:
            file.write(_CONFIG.format(name=name, folder=folder, names=names))
        index = os.path.join(folder, "index.txt")
        if not os.path.exists(index):
            with open(index, "w", encoding="ascii"):
                pass
            with open(os.path.join(folder, "serial"), "w", encoding="ascii") as file:
                file.write("1000\n")
        return path

    def _key(self, name):
        path = self._path(f"{name}.key")
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)
        return path

    def _authority(self, name):
        _openssl("req", "-x509", "-new", "-key", self._key(name), "-config", self._config(name),
                 "-extensions", "v3_ca", "-days", "30", "-out", self._path(f"{name}.pem"))

    def _leaf(self, name, authority, names, start=None, end=None):
        key = self._key(name)
        config = self._config(name, names)
        request = self._path(f"{name}.csr")
        _openssl("req", "-new", "-key", key, "-config", config, "-out", request)
        dates = ("-startdate", start, "-enddate", end) if start else ("-days", "30")
        certificate = self._path(f"{name}.crt")
        _openssl("ca", "-batch", "-notext", "-config", config, "-extensions", "v3_leaf", *dates,
                 "-cert", self._path(f"{authority}.pem"),
                 "-keyfile", self._path(f"{authority}.key"), "-in", request, "-out", certificate)
        with open(self._path(f"{name}.pem"), "w", encoding="ascii") as out:
            for part in (certificate, key):
                with open(part, encoding="ascii") as file:
                    out.write(file.read())
