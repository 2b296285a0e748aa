"""Signatures by `ssh-keygen -Y`: made without ever asking, and verified against a file of allowed signers.

ssh-keygen gets neither a terminal nor a way to ask, and a bounded time. Where it is missing nothing can be verified,
which is exit 2 and never "unsigned is fine".
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from .. import text
from ..findings import Finding, Refusal, could_not
from .child_command import SAFE_PATH

APPROVAL = "pufferlib-approval"
ANCHOR = "pufferlib-anchor"
MAX_BYTES = 64 << 10
PRINCIPAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}\Z")
_SIGN_SECONDS = 60
"""Long enough to touch a hardware key."""
_VERIFY_SECONDS = 20
_HEAD = b"-----BEGIN SSH SIGNATURE-----\n"
_FOOT = b"-----END SSH SIGNATURE-----\n"
_WIDTH = 70


class Signer(NamedTuple):
    """Who signed, as the allowed signers file says."""

    principal: str
    key: str
    """Fingerprint of the key, `SHA256:...`."""


def program() -> str | None:
    """The path of ssh-keygen in the system's folders; the caller's PATH does not count."""
    for folder in SAFE_PATH:
        path = os.path.join(folder, "ssh-keygen")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def sign(key: str, namespace: str, data: bytes) -> bytes:
    """The signature of `data` with a private key file, or with a `.pub` file whose key an agent holds."""
    path = os.path.abspath(key)
    if not os.path.isfile(path):
        raise could_not("signature.key", "there is no such key file", where=key, fix="ssh-keygen -t ed25519 -f KEYFILE")
    status, out, errors = _run(["-Y", "sign", "-f", path, "-n", namespace], data, _SIGN_SECONDS)
    if status != 0 or not _is_canonical(out):
        locked = "passphrase" in errors.lower() or "agent" in errors.lower()
        raise could_not(
            "signature.not_made",
            "ssh-keygen made no signature" + (": the key has a passphrase, and nobody is asked" if locked else ""),
            where=key,
            want=text.escaped(errors.strip().splitlines()[-1] if errors.strip() else "a signature"),
            fix=f"add the key to an agent first: ssh-add {text.escaped(key.removesuffix('.pub'))}",
        )
    return out


def verify(
    data: bytes, signature: bytes, namespace: str, signers: bytes, principal: str | None = None, at: str = ""
) -> Signer:
    """Who signed `data`; a Refusal where the signature is bad or its key is not allowed.

    `principal` is the name that the signer must have; without it the file says which name the key has. `at` is the
    time that the key must be valid at (`20261130120000Z`), now where it is empty.
    """
    import tempfile

    if not _is_canonical(signature):
        raise _bad("it is not a signature as ssh-keygen writes it")
    with tempfile.TemporaryDirectory(prefix="signature-") as folder:
        # Private copies: what is verified is what was read and hashed.
        files = {"signers": signers, "signature": signature}
        for name, content in files.items():
            with open(os.path.join(folder, name), "xb") as stream:
                stream.write(content)
        where = ["-f", os.path.join(folder, "signers"), "-s", os.path.join(folder, "signature")]
        time = [f"-Overify-time={at}"] if at else []
        names = [principal] if principal is not None else _principals(where, time)
        for name in names:
            words = ["-Y", "verify", *where, "-I", name, "-n", namespace, *time]
            status, out, _ = _run(words, data, _VERIFY_SECONDS)
            key = re.search(r"(SHA256:[A-Za-z0-9+/]{43})\s*\Z", out.decode("utf-8", "replace").strip())
            if status == 0 and key:
                return Signer(name, key[1])
    who = f"not by {text.escaped(principal)}" if principal is not None else "not by an allowed signer"
    raise _bad(f"it is {who}, not of these bytes, or its key is not valid now")


def stamp(instant: str) -> str:
    """`2026-11-30T12:00:00Z` as ssh-keygen takes it."""
    return re.sub(r"[^0-9]", "", instant) + "Z"


def _principals(where: list[str], time: list[str]) -> list[str]:
    status, out, _ = _run(["-Y", "find-principals", *where, *time], b"", _VERIFY_SECONDS)
    names = out.decode("utf-8", "replace").splitlines() if status == 0 else []
    return [name for line in names[:32] for name in line.split(",")[:32] if PRINCIPAL.match(name)]


def _is_canonical(signature: bytes) -> bool:
    """Whether the armour is byte for byte as ssh-keygen writes it, so that no bit of the file can change unseen."""
    import base64
    import binascii

    if len(signature) > MAX_BYTES or not (signature.startswith(_HEAD) and signature.endswith(_FOOT)):
        return False
    body = signature[len(_HEAD) : -len(_FOOT)]
    try:
        content = base64.b64decode(body.replace(b"\n", b""), validate=True)
    except (binascii.Error, ValueError):
        return False
    # ssh-keygen takes any version up to its own, so the field that it does not sign could change.
    if not content.startswith(b"SSHSIG" + (1).to_bytes(4, "big")):
        return False
    coded = base64.b64encode(content)
    return body == b"".join(coded[at : at + _WIDTH] + b"\n" for at in range(0, len(coded), _WIDTH))


def _run(words: list[str], data: bytes, seconds: int) -> tuple[int, bytes, str]:
    import subprocess

    path = program()
    if path is None:
        raise could_not(
            "signature.no_program",
            "signatures cannot be checked here: there is no ssh-keygen",
            want="ssh-keygen in " + ", ".join(SAFE_PATH),
            fix="install OpenSSH's client programs (Debian: openssh-client)",
        )
    kept = ("HOME", "SSH_AUTH_SOCK", "TMPDIR")
    variables = {name: os.environ[name] for name in kept if name in os.environ}
    # No terminal (a session of its own), no helper that asks, input that is only the data.
    variables.update(PATH=os.pathsep.join(SAFE_PATH), LC_ALL="C", TZ="UTC0", SSH_ASKPASS_REQUIRE="never")
    try:
        result = subprocess.run(
            [path, *words],
            input=data,
            env=variables,
            capture_output=True,
            timeout=seconds,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        fix = "unlock the key or touch the hardware key, and try again"
        raise could_not("signature.time", f"ssh-keygen took over {seconds} s", fix=fix) from None
    return result.returncode, result.stdout[:MAX_BYTES], result.stderr[:4096].decode("utf-8", "replace")


def _bad(reason: str) -> Refusal:
    return Refusal(Finding("signature.bad", f"the signature does not hold: {reason}"))
