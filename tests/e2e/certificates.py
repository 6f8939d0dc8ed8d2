"""Certificates for tests, made by openssl when they are needed."""

import os
import subprocess


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=120)


class Authority:
    """Signs certificates for names of this machine."""

    def __init__(self, folder, name):
        self.key, self.certificate = (os.path.join(folder, f"{name}.{kind}") for kind in ("key", "crt"))
        self.folder = folder
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", self.key, "-out", self.certificate)

    def sign(self, name, alternatives, expired=False):
        """Key and certificate of somebody who may call itself by these names."""
        key, request, certificate, more = (os.path.join(self.folder, f"{name}.{kind}")
                                           for kind in ("key", "csr", "crt", "ext"))
        with open(more, "w") as file:
            file.write(f"subjectAltName={alternatives}\n")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        # A certificate of negative length is one that ended before it began.
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-days", "-1" if expired else "2", "-extfile", more, "-out", certificate)
        return key, certificate
