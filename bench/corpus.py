"""Invented memories of about 60 tokens for measuring, the same on every run: who did what, to what, and why."""

from __future__ import annotations

import random

_PEOPLE = "Ana Bo Chen Dara Emil Fumi Gita Hugo Ines Jun Kofi Lena Mio Nils Olga Pia".split()
_PARTS = (
    "billing queue|search index|login page|export job|mobile client|payment gateway|audit log|image resizer|"
    "rate limiter|config loader|session store|report builder|webhook relay|cache layer|schema migration|feature flags"
).split("|")
_DONE = (
    "moved to a new host|rewrote in smaller steps|rolled back after a failed deploy|split into two services|"
    "put behind a queue|gave a retry with back-off|documented for the on-call team|measured under load|"
    "moved from polling to events|covered with end-to-end tests"
).split("|")
_WHY = (
    "because the nightly run took too long|since two customers saw stale data|to make restarts harmless|"
    "after the disk filled up twice|because nobody knew how it worked|so that replicas can share the work|"
    "to keep secrets out of the logs|because the old library is no longer kept"
).split("|")
_RARE = "amber basalt cobalt delta ember fjord garnet harbor indigo juniper krill lagoon maple nectar onyx".split()


def memories(count: int, seed: int = 7) -> list[str]:
    """`count` texts."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        who, other = rng.sample(_PEOPLE, 2)
        part, second = rng.sample(_PARTS, 2)
        made.append(
            f"{who} and {other} {rng.choice(_DONE)} the {part} {rng.choice(_WHY)}. Ticket {rng.choice(_RARE)}-{number} "
            f"has the details; the {second} was left alone for now. Next check in week {rng.randint(1, 52)}, owner "
            f"{rng.choice(_PEOPLE)}, port {rng.randint(1024, 65535)}, release {rng.randint(1, 40)}.{number % 20}."
        )
    return made


def questions(count: int, seed: int = 11) -> list[str]:
    """`count` questions that have many weak answers and a few good ones, as real ones do."""
    rng = random.Random(seed)
    return [
        f"why was the {rng.choice(_PARTS)} {rng.choice(('moved', 'rewritten', 'split', 'rolled back'))} by "
        f"{rng.choice(_PEOPLE)}, ticket {rng.choice(_RARE)}?"
        for _ in range(count)
    ]
