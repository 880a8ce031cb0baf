"""Base64 in texts: found by the grammar of data URIs, or as one long run, and replaced by a note of kind and size.

A model cannot read it, and a single picture would fill its whole window.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

BARE: Final = 1_000
"""Characters from which on a bare run of base64 counts as a blob. Keys, digests and signatures are shorter."""

LONGEST_HEADER: Final = 1_024
"""Characters that a data URI takes at most before its payload."""

_TOKEN: Final = r"[a-z0-9!#$&^_.+-]{1,127}"  # noqa: S105  # a token is a word of the grammar here
HEADER: Final = rf"(?<![a-z0-9_])data:({_TOKEN}/{_TOKEN})?(?:;{_TOKEN}=(?:{_TOKEN})?){{0,5}};base64,"
PAYLOAD: Final = r"[a-z0-9+/_=%-]+"
_RUN: Final = r"[A-Za-z0-9+/_-]"


@cache
def _uri() -> re.Pattern[str]:
    return re.compile(f"{HEADER}({PAYLOAD})", re.IGNORECASE | re.ASCII)


@cache
def _bare() -> re.Pattern[str]:
    last_line = rf"\r?\n(?:{_RUN}{{1,76}}={{1,2}}|{_RUN}{{17,76}}(?!\S))"
    return re.compile(rf"(?<!{_RUN}){_RUN}{{60,}}(?:\r?\n{_RUN}{{60,}})*(?:={{1,2}}|{last_line})?")


def strip_blobs(text: str, *, bare: bool = True) -> str:
    """*text* with each blob of base64 replaced by a note such as ``[image/png, in bytes: 5120, left out]``.

    Args:
        text: Any text. What surrounds a blob, such as the quotes of an attribute, stays.
        bare: Whether a run of a thousand characters or more that is no data URI counts, too. It must have capitals,
            small letters and digits, and may be broken into lines.
    """
    if ";base64," in text.lower():
        text = _uri().sub(lambda found: blob_note(found[1], payload_bytes(found[2])), text)
    return _bare().sub(_without_bare, text) if bare and len(text) >= BARE else text


def has_blobs(text: str, *, bare: bool = True) -> bool:
    """Whether `strip_blobs` would change *text*."""
    return strip_blobs(text, bare=bare) != text


@cache
def _header() -> re.Pattern[str]:
    return re.compile(HEADER, re.IGNORECASE | re.ASCII)


@cache
def _payload() -> re.Pattern[str]:
    return re.compile(PAYLOAD, re.IGNORECASE | re.ASCII)


@cache
def _header_begun() -> re.Pattern[str]:
    rest = rf"(?::[a-z0-9!#$&^_.+/;=-]{{0,{LONGEST_HEADER}}}(?:base64,)?)?"
    return re.compile(rf"(?<![a-z0-9_])d(?:a(?:t(?:a{rest})?)?)?\Z", re.IGNORECASE | re.ASCII)


class BlobStripper:
    """Does what `strip_blobs` does to data URIs, for a text that comes in pieces. Holds a header at most."""

    def __init__(self) -> None:
        self._held = ""
        self._before = ""
        self._blob: re.Match[str] | None = None
        self._payload: _Payload = _Payload()

    def feed(self, text: str) -> str:
        """What goes on now that *text* has come; a blob goes on, as its note, when its end has come."""
        text = self._held + text
        passed: list[str] = []
        while text:
            if self._blob is not None:
                run = _payload().match(text)
                end = 0 if run is None else run.end()
                self._payload.add(text[:end])
                text = text[end:]
                passed += [self._end_blob()] if text else []
                continue
            found = _header().search(self._before + text, len(self._before))
            if found is None:
                break
            passed.append(text[: found.start() - len(self._before)])
            text = text[found.end() - len(self._before) :]
            self._blob, self._payload = found, _Payload()
        begun = None if self._blob is not None else _header_begun().search(self._before + text, len(self._before))
        self._held = "" if begun is None else begun[0]
        passed.append(text[: len(text) - len(self._held)])
        return self._pass("".join(passed))

    def end(self) -> str:
        """What was held back."""
        text = self._held if self._blob is None else self._end_blob()
        self._held = ""
        return self._pass(text)

    def _end_blob(self) -> str:
        assert self._blob is not None
        header, self._blob = self._blob, None
        return blob_note(header[1], self._payload.bytes) if self._payload.begun else header[0]

    def _pass(self, text: str) -> str:
        self._before = text[-1:] or self._before
        return text


class _Payload:
    """How much of a payload has come."""

    def __init__(self) -> None:
        self.begun = False
        self._digits = 0
        self._escape = ""

    def add(self, run: str) -> None:
        """Count *run*, which may end inside of an escape such as ``%3D``."""
        self.begun = self.begun or bool(run)
        run = self._escape + run
        cut = run.rfind("%", max(0, len(run) - 2))
        self._escape = "" if cut < 0 else run[cut:]
        self._digits += _digits(run if cut < 0 else run[:cut])

    @property
    def bytes(self) -> int:
        """How many bytes that is."""
        return decoded_bytes(self._digits + _digits(self._escape))


def blob_note(kind: str | None, size: int) -> str:
    """What stands in the place of a blob."""
    return f"[{kind or 'base64'}, in bytes: {size}, left out]"


def payload_bytes(payload: str) -> int:
    """How many bytes a run of base64 stands for."""
    return decoded_bytes(_digits(payload))


def _digits(run: str) -> int:
    """The digits of base64 in *run*, where some characters may stand as escapes of a URL."""
    padding = run.count("=") + len(re.findall("%3d", run, re.IGNORECASE))
    return max(0, len(run) - 2 * run.count("%") - padding)


def decoded_bytes(digits: int) -> int:
    """How many bytes that many digits of base64 stand for, the padding not counted."""
    return digits * 3 // 4


def _without_bare(found: re.Match[str]) -> str:
    run = found[0]
    kinds = (str.isupper, str.islower, str.isdigit)
    if len(run) < BARE or not all(any(map(kind, run)) for kind in kinds):
        return run
    return blob_note(None, decoded_bytes(sum(map(len, run.split())) - run.count("=")))
