"""Instants and durations: UTC, whole seconds, no time zone database."""

from __future__ import annotations

import re
import time

from .findings import COULD_NOT, Finding, Refusal

LONGEST_SECONDS = 30 * 86400
"""The longest time an approval may live."""

_INSTANT = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z\Z")
_DURATION = re.compile(r"([1-9][0-9]{0,6})([smhd])\Z")


def now() -> int:
    """Seconds since 1970-01-01 UTC."""
    return int(time.time())


def instant(seconds: int) -> str:
    """`2026-11-30T13:05:12Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def seconds_of(instant_text: str) -> int | None:
    """The seconds of an instant written by `instant`; None for anything else, such as a 31 February."""
    match = _INSTANT.match(instant_text)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups())
    # Days from civil (proleptic Gregorian calendar), counted from 1 March so that leap days come last.
    shifted = year - (month <= 2)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    era, year_of_era = divmod(shifted, 400)
    days = era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468
    seconds = days * 86400 + hour * 3600 + minute * 60 + second
    # Writing it again refuses every field that is out of range.
    return seconds if seconds >= 0 and instant(seconds) == instant_text else None


def duration(duration_text: str) -> int:
    """Seconds of `90s`, `30m`, `1h` or `7d`; anything else, or more than 30 days, is refused."""
    match = _DURATION.match(duration_text)
    seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise Refusal(
            Finding(
                "approval.duration",
                f"not a usable duration: {duration_text[:40]!r}",
                want="a whole number and s, m, h or d, at most 30d",
                fix="--expires-in 1h",
            ),
            exit_status=COULD_NOT,
        )
    return seconds
