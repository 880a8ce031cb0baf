"""Masking what must not be written down: values under privileged names, and texts that look like a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, cast

import attrs

REDACTED: Final = "[redacted]"
"""What is written in place of a secret."""

PRIVILEGED: Final = frozenset(
    (
        *("arguments", "args", "kwargs", "result", "results", "headers", "cookies", "metadata", "requestcontext"),
        *("authorization", "proxyauthorization", "auth", "cookie", "setcookie", "credential", "credentials"),
        *("jwt", "otp", "pin", "pwd", "cvv", "cvc"),
    )
)
"""Names whose values are masked whatever they are, in small letters and without ``_`` and ``-``."""

SECRET: Final = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "bearer")
"""What a name has in it whose value is masked, unless that is a number or nothing: there are ``max_tokens``, too."""

_WORDS: Final = r"pass(?:word|wd|phrase)|(?<![a-z])pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key"
_NOT_YET: Final = re.escape(REDACTED[:-1])
_END: Final = r"\\*[\"']?"
"""What may stand behind a name: a quotation mark, however often it was escaped."""

_QUOTED: Final = r"\\+\"[^\"]*\"|\"(?:[^\"\\]|\\\"?)*\"|'(?:[^'\\]|\\'?)*'"
"""A text in quotation marks, which may have some that are escaped, once or more often, in it."""

_SCHEMES: Final = "digest|aws4-[a-z0-9-]+|oauth|hawk|mac|signature"
"""Of authorizations that go on to the end of the line."""

PATTERNS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        rf"(?i)(?:{_WORDS}|authorization|cookie)\\*[\"']\s*,\s*b?(?P<secret>(?!{_NOT_YET})(?:{_QUOTED}))",
        rf"(?i)\bcookie{_END}\s*[=:]\s*(?P<secret>(?!{_NOT_YET})[^\r\n]+)",
        rf"(?i)authorization{_END}\s*[=:]\s*{_END}(?:{_SCHEMES})\s+(?P<secret>(?!{_NOT_YET})[^\r\n]+)",
        rf"(?i)authorization{_END}\s*[=:]\s*{_END}(?:[a-z]+\s+)?(?P<secret>(?!{_NOT_YET})[^\s\"',;]+)",
        r"(?i)\bbearer\s+(?P<secret>[\w.~+/=-]{6,})",
        r"(?<![\w-])eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*",
        r"\b[spr]k[-_][\w-]{12,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b",
        r"\bAIza[\w-]{30,}",
        r"\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
        r"\bxox[abeoprs]-[\w-]{8,}",
        r"://[^\s/:@]*:(?P<secret>[^\s/]+)@",
        rf"(?i)(?:{_WORDS}){_END}\s*[=:]\s*(?P<secret>(?!{_NOT_YET})(?:{_QUOTED}|[^\s,;&)}}\]]+))",
    )
)
"""What secrets look like; where a part is called ``secret``, only that is masked."""

_DEPTH: Final = 8
"""How deep what is inside something is looked through; what lies deeper is not written."""

_KEPT: Final = (bool, int, float, type(None))


def _masked(found: re.Match[str]) -> str:
    whole = found.group()
    if "secret" not in found.re.groupindex:
        return REDACTED
    start, end = found.start("secret") - found.start(), found.end("secret") - found.start()
    return whole[:start] + REDACTED + whole[end:]


def _plain(name: object) -> str:
    told = name.decode("latin-1") if isinstance(name, bytes) else str(name)
    return told.lower().replace("_", "").replace("-", "").replace(" ", "")


def _is_pair(value: Sequence[object]) -> bool:
    """Whether it may be a name and what it stands for, such as a header."""
    return len(value) == 2 and isinstance(value[0], str | bytes)


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_plain, given))


@attrs.frozen
class Redaction:
    """A processor of structlog that masks secrets, however deep they lie in what is logged.

    It belongs before the renderer, behind whatever turns exceptions into text. It knows names and forms, not meanings: a
    secret that has neither gets through.

    Args:
        names: Further names whose values are masked, whatever these are. Case, ``_`` and ``-`` make no difference.
        allowed: Names that are never masked; what stands there is still searched for what looks like a secret.
        patterns: Further forms of secrets; where a group is called ``secret``, only that is masked.
    """

    names: frozenset[str] = attrs.field(default=frozenset[str](), converter=_names, kw_only=True)
    allowed: frozenset[str] = attrs.field(default=frozenset[str](), converter=_names, kw_only=True)
    patterns: tuple[re.Pattern[str], ...] = attrs.field(default=(), kw_only=True)

    def __call__(self, _: object, __: str, event_dict: MutableMapping[str, object]) -> dict[str, object]:
        """What may be written of *event_dict*."""
        return {name: self._value(name, value, _DEPTH) for name, value in event_dict.items()}

    def text(self, given: str) -> str:
        """*given* with what looks like a secret masked."""
        for pattern in (*PATTERNS, *self.patterns):
            given = pattern.sub(_masked, given)
        return given

    def _value(self, name: object, value: object, depth: int) -> object:
        plain = _plain(name)
        if plain not in self.allowed:
            if plain in PRIVILEGED or plain in self.names:
                return REDACTED
            if any(word in plain for word in SECRET) and not isinstance(value, _KEPT):
                return REDACTED
        return self._any(value, depth)

    def _name(self, name: object) -> object:
        """A name as it may be written: something that JSON can have for one."""
        if isinstance(name, _KEPT):
            return name
        try:
            return self.text(name if isinstance(name, str) else repr(name))
        except Exception:  # noqa: BLE001  # code of the name's own
            return REDACTED

    def _member(self, name: object, value: object, depth: int) -> object:
        try:
            return self._value(name, value, depth)
        except Exception:  # noqa: BLE001  # likewise
            return REDACTED

    def _any(self, value: object, depth: int) -> object:
        if isinstance(value, _KEPT):
            return value
        if isinstance(value, str):
            return self.text(value)
        if not depth:
            return REDACTED
        if isinstance(value, Mapping):
            members = cast("Mapping[object, object]", value)
            return {self._name(name): self._member(name, member, depth - 1) for name, member in members.items()}
        if isinstance(value, list | tuple) and _is_pair(cast("Sequence[object]", value)):
            name, member = cast("Sequence[object]", value)
            return [self._any(name, depth - 1), self._value(name, member, depth - 1)]
        if isinstance(value, list | tuple | AbstractSet):
            return [self._any(member, depth - 1) for member in cast("Iterable[object]", value)]
        return self._object(value)

    def _object(self, value: object) -> object:
        """Something else, which a renderer would show by its ``repr``: as it is, unless that has a secret in it."""
        try:
            shown = repr(value)
        except Exception:  # noqa: BLE001  # code of the value's own
            return REDACTED
        masked = self.text(shown)
        return value if masked == shown else masked
