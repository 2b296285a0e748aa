"""The phrases that give orders over the head of the user, as `phrases` searches them: letters only, nothing between.

A phrase is a stem, found as it stands, and what has to follow it. The lists are cut and ordered so that this file,
which a search reads as any other, holds none of its phrases itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Nouns, fillers and verbs stand in this order so that the lists themselves are no phrase.
_NOUNS = (
    r"(?:instruct(?:ions?|ed)|prompts?|rules?|guidelines?|guidance|directions?|directives?|"
    r"commands?|orders?|constraints?|"
    r"restrictions?|polic(?:y|ies)|safeguards?|guardrails?)"
)
_TALK = r"(?:training|programming|context|messages?|conversations?|text|content|input)"
_WHOSE = (
    r"(?:your|all|system|safety|security|developers?|users?|operators?|original|initial|"
    r"previous(?:ly)?|prior|above|"
    r"earlier|preceding|foregoing|existing|current|former|other|given|past|aforementioned|hitherto)"
)
_BEFORE = r"(?:previous(?:ly)?|prior|above|earlier|preceding|foregoing|former|past|aforementioned)"
_FILL = (
    r"(?:any|every|each|these|those|the|this|that|of|and|or|both|my|our|its|their|listed|"
    r"written|stated|set|provided|"
    r"as|it|in|from|please|now|just|simply|completely|entirely|totally|fully|immediately|assistant|agent|dear|hereby|"
    r"strictly|literally|youhave|youve|youwere|been|very|single)"
)
_VERBS = (
    "ignor",
    "disregard",
    "forget",
    "overrid",
    "overrul",
    "bypass",
    "neglect",
    "discard",
    "dismiss",
    "disobey",
    "overlook",
    "paynoattentionto",
    "donotfollow",
    "donotcomplywith",
    "dontcomplywith",
    "dontobey",
    "refusetofollow",
    "unlearn",
    "scrap",
    "dontfollow",
    "stopfollowing",
    "donotobey",
    "setaside",
    "throwaway",
    "nevermind",
    "nolongerfollow",
    "invalidate",
    "supersede",
    "abandon",
    "circumvent",
)
_ENDING = r"(?:e|es|ed|ing|s|d)?"


class Phrase(NamedTuple):
    """One phrase with its wordings, in bare letters."""

    code: str
    """The code of a finding about it."""
    stems: tuple[str, ...]
    """Where to look: literal text that the phrase starts with."""
    rest: re.Pattern[str]
    """What has to follow the stem."""
    negated: bool = True
    """Whether it counts behind a word that forbids it, such as `never`."""
    strong: bool = False
    """Whether it is searched in every spelling, not only as it stands."""


def _phrase(code: str, stems: tuple[str, ...] | str, rest: str, negated: bool = True, strong: bool = False) -> Phrase:
    return Phrase(code, (stems,) if isinstance(stems, str) else stems, re.compile(rest), negated, strong)


_USER = (
    r"(?:the|your|any|a)?(?:users?|humans?|operators?|reviewers?|person|people|anyone|anybody|"
    r"owner|developers?|customer)"
)
_TELL = (
    r"(?:tell|inform|alert|notify|warn|mention(?:this|it)?to|reveal(?:this|it)?to|"
    r"disclose(?:this|it)?to|show(?:this|it)to|"
    r"report(?:this|it)?to|telling|informing|alerting|notifying|warning|letonto)"
)
_SECRETS = (
    r"(?:credentials?|apikeys?|secrets?|passwords?|tokens?|ssh(?:keys?)?|privatekeys?|"
    r"environmentvariables?|envfile|cookies|sessionkeys?)"
)

PHRASES = (
    _phrase(
        "hidden.override",
        _VERBS,
        rf"{_ENDING}(?:{_FILL}|{_WHOSE}){{0,8}}?{_WHOSE}(?:{_FILL}|{_WHOSE}){{0,6}}?{_NOUNS}",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        _VERBS,
        rf"{_ENDING}(?:{_FILL}|all|your){{0,6}}?{_BEFORE}(?:{_FILL}|{_WHOSE}){{0,4}}?{_TALK}",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        _VERBS,
        rf"{_ENDING}(?:{_FILL}|{_WHOSE}){{0,6}}?(?:{_NOUNS}|{_TALK})(?:{_FILL}|which|came|come|is|"
        rf"are|were|was){{0,5}}(?:above|before|earlier|previously|yougot|given|yougiven|received|"
        rf"yoursystem|sofar|uptonow|tillnow)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        _VERBS,
        rf"{_ENDING}(?:everything|anything|whatever|all)(?:{_FILL}|{_WHOSE}|that|which|came|comes?|"
        rf"was|were|is|has|have|been|"
        r"you){0,6}(?:before|above|told|said|previously|earlier|know|learned|learnt|toldyou|asked)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        _VERBS,
        rf"{_ENDING}what(?:ever)?you(?:were|have|had|are|ve)?(?:been)?(?:told|asked|instructed|"
        rf"taught|given|learned)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        ("newinstruct", "updatedinstruct", "realinstruct", "trueinstruct", "secretinstruct"),
        r"(?:ions?)(?:foryou|fortheagent|fortheassistant|followbelow|supersede|override|replace)",
    ),
    _phrase(
        "hidden.override",
        ("theseinstructions", "thisinstruction", "thismessage", "theserules", "thisdocument", "thisskill"),
        r"(?:must|will|shall|now|always|has|have|takes?|the|highest|absolute|top)*(?:supersedes?|"
        r"overrides?|replaces?|priority|takesprecedence|precedence|outranks?)(?:over)?(?:all|any|"
        r"your|the|every|other|previous|system|user)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        "youarenow",
        r"(?:in)?(?:dan|jailbroken|unrestricted|unfiltered|uncensored|freefrom|freeof|freeto|"
        r"nolonger|developermode|godmode|anunrestricted|anewassistant|adifferentassistant|evil|"
        r"root)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        ("youarenolonger", "yourenolonger"),
        r"(?:bound|restricted|required|an?ai|anassistant|limited|subject|under|boundby|obliged)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        ("developermode", "godmode", "danmode", "jailbreakmode"),
        r"(?:now|is|isnow)?(?:enabled|activ|engaged|turnedon)",
        strong=True,
    ),
    _phrase("hidden.override", "doanything", r"now", strong=True),
    _phrase(
        "hidden.override",
        (
            "instructions",
            "systemprompt",
            "previousprompt",
            "previousrules",
            "priorrules",
            "yourrules",
            "earlierrules",
            "originalrules",
            "guidelines",
        ),
        r"(?:above|before|given)?(?:are|is|were|was|have|has|do)?(?:now|been|hereby|all)*(?:(?:void|null|cancelled|"
        r"canceled|invalid|obsolete|revoked|superseded|suspended|overridden|lifted|irrelevant|fake|atest)|"
        r"nolonger(?:valid|inforce|applicable|ineffect|binding|apply|true))",
        negated=False,
    ),
    _phrase(
        "hidden.override",
        "fromnowon",
        r"you(?:will|must|are|should|shall|areto)?(?:only)?(?:act|behave|obey|pretend|roleplay|impersonate|answerto)",
    ),
    _phrase(
        "hidden.override",
        ("actasif", "pretend", "behaveasif", "imagine", "respondasif"),
        r"(?:that)?(?:youhave|thereare|youhad|therewere)(?:no|not|neverhad)(?:any)?(?:rules|"
        r"restrictions|guidelines|limits|limitations|filters|safety|policies|instructions)",
    ),
    _phrase(
        "hidden.override",
        ("yourtrue", "yourreal", "yournew", "yoursecret", "youractual"),
        r"(?:task|goal|purpose|mission|objective|job|role|instructions?)(?:is|are)(?:nowto|now|to)",
    ),
    _phrase(
        "hidden.secrecy",
        ("donot", "dont", "never", "mustnot", "shouldnot"),
        rf"(?:ever|you|be|to)?{_TELL}(?:thisto|itto|about|to)?{_USER}",
    ),
    _phrase("hidden.secrecy", "without", rf"(?:ever|first)?{_TELL}(?:thisto|itto|to)?{_USER}", negated=False),
    _phrase(
        "hidden.secrecy",
        ("keepthis", "keepit", "hidethis", "hideit", "concealthis", "concealit", "keepthese", "hidethese"),
        rf"(?:instructions?|messages?|steps?|comments?|sections?|all)?(?:a)?(?:secret|hidden|"
        rf"private|confidential|away)?from{_USER}",
    ),
    _phrase(
        "hidden.secrecy",
        (
            "donotmention",
            "dontmention",
            "nevermention",
            "donotreveal",
            "dontreveal",
            "neverreveal",
            "donotdisclose",
            "donotacknowledge",
        ),
        r"(?:this|these|the|that)?(?:hidden|secret|above)?(?:instructions?|messages?|comments?|"
        r"sections?|steps?|prompts?|paragraphs?|sentences?|passages?|textto)",
    ),
    _phrase(
        "hidden.secrecy",
        ("withouttheuser", "withouttheperson", "withoutahuman", "withoutanyone", "behindtheuser"),
        r"s?(?:knowing|knowledge|consent|noticing|awareness|permission|approval|back|beingaware)",
        negated=False,
    ),
    _phrase(
        "hidden.bypass",
        ("bypass", "skip", "disabl", "circumvent", "switchoff", "turnoff", "evad", "defeat"),
        r"(?:e|es|ing|ping|s)?(?:all|any|every|the|its|your|these|of|this|safety|security|user|"
        r"human|built|in)*(?:safety|security|approval|permission|confirmation|sandbox|consent|"
        r"guardrail|authori[sz]ation)s?(?:check|gate|prompt|filter|control|measure|step|mechanism|"
        r"feature|request|dialog|question|polic|review|restriction|s)",
        negated=False,
    ),
    _phrase(
        "hidden.bypass",
        ("bypass", "circumvent", "evad", "defeat", "getaround", "workaround"),
        r"(?:e|es|ing|s)?(?:all|any|every|the|its|your|these|of)*(?:safety|security|approval|"
        r"permission|confirmation|sandbox|consent|guardrail)s?",
        negated=False,
    ),
    _phrase(
        "hidden.bypass",
        ("automatically", "always", "silently", "secretly", "quietly"),
        r"(?:approve|accept|grant|confirm|sayyesto|allow)(?:all|any|every|each|the|"
        r"this)(?:request|permission|prompt|plan|launch|command|tool|action|confirmation)",
    ),
    _phrase(
        "hidden.bypass",
        ("pretend", "assum", "actasif", "behaveasif", "claim", "reportthat"),
        r"(?:e|es|ing|s)?(?:that)?(?:the|your|a|every)?(?:users?|person|human|operator|owner)(?:has|have|had)?"
        r"(?:already)?(?:approved|consented|agreed|confirmed|allowed|permitted|saidyes)",
        negated=False,
    ),
    _phrase(
        "hidden.bypass",
        ("answeryes", "sayyes", "replyyes", "respondyes", "answerwithyes", "replywithyes"),
        r"(?:to|when|whenever|if|every|any|all|each|it|is|you|youre|are|asked|asks?|for|an|a|the|users?|requests?)*"
        r"(?:approval|permission|confirmation|consent)",
        negated=False,
    ),
    _phrase(
        "hidden.override",
        ("asanai", "asanllm", "asalanguagemodel", "ifyouareanai", "ifyouareanllm", "ifyouarealanguagemodel"),
        r"(?:model|agent|assistant)?(?:and|whois|thatis|whoare)?(?:you)?(?:are)?(?:reading|processing|parsing)"
        r"th(?:is|ese)",
    ),
    _phrase(
        "hidden.override",
        ("treatthefollowing", "treatthis", "treatthese", "considerthis", "considerthefollowing"),
        r"(?:text|words|message|file|instructions?|section)?(?:as)?(?:coming|sent|written|given|if|itcame|theycame)*"
        r"(?:from|by)(?:the|your)?(?:developer|user|system|operator|owner)",
    ),
    _phrase(
        "hidden.reveal",
        ("reveal", "print", "repeat", "output", "leak", "exfiltrate", "disclose", "show", "dump", "send", "paste"),
        r"(?:ing|s)?(?:me|us|out|back)?(?:all|the|your|full|entire|complete|whole|of|"
        r"verbatim)*(?:system|hidden|initial|developer)(?:prompt|instructions|messages?)",
        negated=False,
    ),
    _phrase(
        "hidden.exfiltration",
        ("send", "upload", "post", "exfiltrate", "transmit", "forward", "email", "curl", "leak", "copy", "submit"),
        rf"(?:ing|s|ting)?(?:all|any|the|your|their|users?|its|of|contents?|every|found|these|"
        rf"those|local|my|file|env|in|and|from)*{_SECRETS}.{{0,60}}?(?:to|at|via|https?|"
        rf"into)(?:https?|the|this|our|my|a|an|server|webhook|url|endpoint|attacker|address|"
        rf"following|remote|external)",
        negated=False,
        strong=True,
    ),
    # Other languages: Portuguese, Spanish, French, German, Italian; accents are gone already.
    _phrase(
        "hidden.override",
        ("ignor", "desconsider", "esquec", "olvid", "descart", "oubli", "dimentica", "despreci"),
        r"(?:e|a|ez|er|ar|em|en|es|ad|te|are|zr|i)?(?:por|de|completamente|"
        r"completement)?(?:todas?|todos?|toutes?|tous|tutte|tutti|quaisquer|cualquier)?(?:as|os|"
        r"las|los|les|le|la|o|el|ces|suas|seus|tus|sus|vos|tes|delle|"
        r"des)?(?:tuas)?(?:instruc\w{2,4}e?s|instructions?|istruzioni|ordens|ordenes|ordres|"
        r"regras|reglas|regles|regole|consignes|indicacoes|indicaciones|diretrizes|directrices|"
        r"directives|comandos|mensagens|prompts?)(?:anterior|previ|preceden|acima|ante|arriba|"
        r"cidessus|dosistema|delsistema|dusysteme|iniciais|iniciales|initiales|recebid|"
        r"de?susistema|queterecebeste|original|originai)",
        strong=True,
    ),
    _phrase(
        "hidden.override",
        ("ignoriere", "vergiss", "missachte", "vergesse"),
        r"n?(?:sie)?(?:alle|samtliche)?n?(?:die|deine|ihre)?n?(?:vorherig|bisherig|obig|fruher|"
        r"vorangegangen|vorig|zuvor)\w{0,12}?(?:anweisung|instruktion|befehl|regel|vorgabe|"
        r"anordnung|prompt)",
        strong=True,
    ),
)

# Scripts without capital letters or look-alikes, searched in the text without spaces.
_JA_VERBS = r"(?:無視|忘れ|従わない|破棄)"
_JA_NOUNS = r"(?:指示|命令|プロンプト|ルール|規則|指令)"
OTHER_WORDS = (
    (
        "hidden.override",
        rf"(?:以前|前|上記|これまで|今まで|先|既存|システム|すべて|全て)の.{{0,8}}?{_JA_NOUNS}.{{0,8}}?{_JA_VERBS}",
    ),
    ("hidden.override", r"(?:指示|命令|プロンプト)(?:を|は)(?:すべて|全て|全部)?(?:無視|忘れ)(?:し|て|ろ|せよ)"),
    (
        "hidden.override",
        r"(?:忽略|无视|無視|忽視|忘记|忘記|不要理会|不要理會|不要遵守|放弃)(?:掉|你|您|所有|全部|一切|之前|以前|先前|前面|上面|以上|此前|系统|系統|"
        r"的){1,8}(?:指令|指示|提示|说明|說明|命令|规则|規則|要求|内容|訊息|消息)",
    ),
    (
        "hidden.override",
        r"(?:이전|위|앞|기존|시스템|모든)(?:의|에있는)?(?:모든)?(?:지시|명령|지침|프롬프트|규칙).{0,8}?(?:무시|잊|따르지)",
    ),
    (
        "hidden.override",
        r"(?:игнорируй|проигнорируй|забудь|отбрось|неслушай|игнорируйте|"
        r"забудьте)(?:те)?(?:пожалуйста)?(?:все|всё|всех|любые)?(?:предыдущ|прошл|прежн|"
        r"вышеуказан|ранее|системн|свои|эти)\w{0,10}?(?:инструкц|указан|команд|правил|сообщен|"
        r"промпт)",
    ),
    (
        "hidden.override",
        r"(?:تجاهل|انس|اهمل|أهمل)(?:جميع|كل|كافة)?(?:التعليمات|الأوامر|التوجيهات|"
        r"القواعد)(?:السابقة|أعلاه|السالفة)?",
    ),
    (
        "hidden.override",
        r"(?:पिछले|पिछली|ऊपरदिए|सभी)(?:सभी|गए)?(?:निर्देश|आदेश|नियम)\w{0,4}(?:को)?(?:अनदेखा|भूल|"
        r"नज़रअंदाज)",
    ),
)

ROLE_MARKERS = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|begin_of_text|"
    r"start_header_id)\|>|\[/?INST\]|<</?SYS>>|"
    r"</?(?:system|system-reminder|system_prompt|assistant|developer|important_instructions|human)>|"
    r"^[ \t]{0,3}(?:#{1,6} *)?(?:SYSTEM|System)(?: (?:prompt|message|note|override|"
    r"instruction|PROMPT|MESSAGE|OVERRIDE))s?\s*:|"
    r"(?:BEGIN|START|END) (?:OF )?(?:NEW )?SYSTEM (?:PROMPT|MESSAGE|INSTRUCTIONS?)|^[ "
    r"\t]*\[(?:system|SYSTEM)\]|^(?:Human|Assistant):[ \t]*$",
    re.MULTILINE,
)
