"""Attempts to give a model orders in what should be data: by the phrases they use, however disguised.

A heuristic. It finds what is written the way that such texts usually are, in a few languages, and misses what is
not; fencing does not depend on it. Every pattern takes time linear in the text, for none repeats what it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import attrs

from ...definitions._checks import members, shown
from ...errors import DefinitionError
from .._folding import fold
from ._verdict import Verdict, check_confidence
from ._walking import texts_of

_STRONG: Final = 0.6
_WEAK: Final = 0.3
_MOST: Final = 0.9


class _Family(NamedTuple):
    name: str
    weight: float
    pattern: str


_ANY: Final = "(?:(?:all|any|every|everything|anything|the|your|of|my|these|those|this) ){0,4}"
_EARLIER: Final = "(?:previous|prior|above|earlier|preceding|foregoing|former|original|initial|system)"
_ORDERS: Final = "(?:instructions?|directives?|prompts?|rules?|guidelines?|commands?|orders?|context|messages?)"

_FAMILIES: Final = (
    _Family(
        "asks to ignore what was said before",
        _STRONG,
        f"(?:ignore|disregard|override|bypass|forget) {_ANY}(?:(?:{_EARLIER} (?:and |or )?){{1,3}}{_ORDERS}|above|"
        f"(?<=your ){_ORDERS}|(?<=thing )you (?:were|have been) told)"
        # German, French, Spanish, Italian, Portuguese
        "|(?:ignoriere?|vergiss|missachte) (?:alle |die |deine |bisherigen |vorherigen |obigen ){0,4}"
        "(?:anweisungen|instruktionen|befehle|regeln)"
        "|(?:ignore[zr]?|oublie[zr]?) (?:toutes |les |tes |vos |precedentes ){0,4}(?:instructions|consignes|regles)"
        "|(?:ignora|ignore|olvida|olvide) (?:todas |las |tus |sus |anteriores ){0,4}(?:instrucciones|ordenes|reglas)"
        "|(?:ignora|dimentica) (?:tutte |le |tue |precedenti ){0,4}(?:istruzioni|regole)"
        "|(?:ignore|esqueca) (?:todas |as |suas |anteriores ){0,4}(?:instrucoes|regras|ordens)"
        # Russian, Chinese, Japanese, Korean
        "|(?:игнорируй|игнорируйте|забудь|забудьте) (?:все |предыдущие |прежние |свои ){0,4}(?:инструкции|указания|правила)"  # Russian
        "|(?:忽略|无视|忘记|忽視|無視)(?:掉|了)?(?:之前|以上|上面|先前|前面)?的?(?:所有|全部)?(?:之前|以上|上面|先前)?的?(?:指令|指示|说明|提示|規則|规则)"
        "|(?:これまで|以前|上記|前)の?(?:すべて|全て)?の?(?:指示|命令|指令)を?(?:無視|忘れ)"
        "|(?:이전|위의|앞의) ?(?:모든 ?)?(?:지시|지침|명령)(?:을|를|사항을)? ?(?:무시|잊)",
    ),
    _Family(
        "announces new instructions",
        _WEAK,
        "(?:new|updated|revised|real|actual|secret) (?:system )?(?:instructions?|directives?|prompt) ?:"
        "|neue anweisung(?:en)? ?:|nouvelles (?:instructions|consignes) ?:|nuevas instrucciones ?:|новые инструкции ?:|新(?:的)?指令 ?:",  # Russian
    ),
    _Family(
        "gives the model another role",
        _WEAK,
        "you are now |from now on,? you |du bist (?:jetzt|nun|ab sofort) |tu es (?:maintenant|desormais) "
        "|(?:ahora eres|a partir de ahora eres) |ты теперь |你现在是|从现在(?:开始|起)你|あなたは今から",  # Russian
    ),
    _Family(
        "asks to act as somebody",
        _WEAK,
        "(?<![a-z])(?:act as (?:an? |the |if |(?:root|admin|administrator|developer|dan)(?![a-z]))|roleplay as )",
    ),
    _Family("asks to pretend", _WEAK, "(?<![a-z])pretend (?:that )?(?:you are|you're|to be) "),
    _Family(
        "imitates the markup of a conversation",
        _STRONG,
        r"\[/?(?:system|inst)\]|<<sys>>|</?system>|<\|(?:system|user|assistant|im-start|im-end|endoftext|end-of-turn)\|>"
        r"|<(?:start|end)-of-turn>",
    ),
    _Family(
        "imitates a heading or a role of a prompt",
        _WEAK,
        r"(?:^|\n) {0,8}(?:[#*-]{3,64} ?(?:system|instructions?|new task|admin|assistant|developer|important)(?![a-z])"
        r"|(?:system|developer|assistant) ?(?:prompt|message|note)? ?: )",
    ),
    _Family(
        "asks for the prompt or for secrets",
        _STRONG,
        "(?:reveal|print|show|repeat|output|leak|send|exfiltrate) (?:me )?(?:your|the) (?:(?:full|entire|hidden|secret|initial) ){0,2}"
        "(?:system prompt|system message|api keys?|credentials|passwords?|secrets)",
    ),
    _Family(
        "asks to keep something from the user",
        _STRONG,
        "(?:do not|don't|never) (?:tell|inform|mention (?:this|it) to|alert|notify) (?:the )?(?:user|human)"
        "|without (?:telling|informing|notifying) (?:the )?(?:user|human)",
    ),
)
"""Phrases of folded text: small letters, no accents, dashes for underscores. They are folded themselves before use."""

_HIDDEN: Final = (
    (
        "hides letters in invisible tag characters",
        _STRONG,
        "(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{3}|\U0001f3f4[\U000e0020-\U000e007e]{8}",
    ),
    ("splits words by invisible characters", _WEAK, "[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff]+[A-Za-z]"),
    ("turns the direction of letters around", _WEAK, "[\u202d\u202e]"),
)
"""Signs of a disguise, looked for in the text as it is. The flags of regions end in up to seven
tags, and a joiner may stand between letters
of alphabets that need it."""


@cache
def _patterns() -> tuple[tuple[str, float, re.Pattern[str]], ...]:
    return tuple((name, weight, re.compile(_folded(pattern))) for name, weight, pattern in _FAMILIES)


@cache
def _disguises() -> tuple[tuple[str, float, re.Pattern[str]], ...]:
    return tuple((name, weight, re.compile(pattern)) for name, weight, pattern in _HIDDEN)


def _folded(pattern: str) -> str:
    """*pattern* with its foreign letters folded as those of a text are."""
    return "".join(character if character.isascii() else fold(character) for character in pattern)


@attrs.frozen(kw_only=True)
class PromptInjection:
    """Finds texts that try to give the model orders.

    Each family of phrases that is found adds 0.3 or 0.6, up to 0.9: "act as a translator" alone is no attack, two such
    phrases in one text are, and "ignore all previous instructions" is one by itself. Case, accents, letters of
    look-alike alphabets, line breaks and invisible characters make no difference.

    Args:
        confidence: From where on a text is flagged.
        extra: Patterns of your own, each worth 0.3. They are matched against the text as it is, without regard to case,
            and have to be safe on any text: nothing bounds the time that they take.

    Raises:
        DefinitionError: *confidence* is out of range, or *extra* holds what is no regular expression.
    """

    confidence: float = _STRONG
    extra: Sequence[str] = ()
    name: str = attrs.field(default="prompt-injection", init=False)
    _extra: tuple[re.Pattern[str], ...] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_confidence("PromptInjection", self.confidence)
        object.__setattr__(
            self, "_extra", tuple(map(_compiled, members("PromptInjection", "extra", self.extra, "patterns")))
        )

    def __call__(self, value: object) -> Verdict:
        """Judge the text of *value* that looks most like an attack.

        Raises:
            InspectionLimit: *value* is too large to be inspected.
        """
        worst = Verdict(False, "prompt-injection", "nothing was found", confidence=0.0, detector=self.name)
        for where, text in texts_of(value):
            found = self._found(text)
            confidence = min(_MOST, round(sum(found.values()), 1))
            if confidence > worst.confidence:
                flagged = confidence >= self.confidence
                worst = Verdict(flagged, "prompt-injection", "; ".join(found), where, confidence, self.name)
        return worst

    def _found(self, text: str) -> dict[str, float]:
        readings = [fold(text)]
        if not text.isascii():
            readings.append(fold(text, tags=True))
        readings += [" ".join(reading.split()) for reading in readings]
        found = {
            name: weight for name, weight, pattern in _patterns() if any(pattern.search(text) for text in readings)
        }
        if not text.isascii():
            found |= {name: weight for name, weight, pattern in _disguises() if pattern.search(text)}
        return found | {
            f"matches pattern {number} of its own": _WEAK
            for number, pattern in enumerate(self._extra, 1)
            if pattern.search(text)
        }


def _compiled(pattern: object) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)  # type: ignore[call-overload, no-any-return]  # a caller may pass anything
    except (re.error, TypeError, ValueError) as error:
        raise DefinitionError(
            "PromptInjection", "extra", f"{shown(pattern)} is no regular expression: {error}"
        ) from error
