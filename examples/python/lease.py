# TOLLGATE_LIBRARY=target/release/libtollgate.so python3 examples/python/lease.py 127.0.0.1:6380
"""Decides in this process by leases of running nodes, and prints how decisions were found.

A node runs by `tollgate serve --contracts examples/lease.yaml`. Exits with 1 where a decision is not what it should be.
"""

from __future__ import annotations

import random
import secrets
import sys
import time
from collections import Counter

from tollgate import Answer, Limiter, Path, TollgateError

TIMEOUT = 10.0
"""Seconds that a call waits for a node: far longer than one takes, so that a busy machine is no reason to refuse."""

PATIENCE = 30.0
"""Seconds after which it is no use to come back."""


def show(kind: str, answers: list[Answer]) -> list[Answer]:
    found = Counter(answer.path.name.lower() for answer in answers)
    passed = sum(answer.allowed for answer in answers)
    paths = ", ".join(f"{path} {count}" for path, count in sorted(found.items()))
    print(f"{kind:<6}{len(answers):>5}{passed:>8}  {paths}")
    return answers


def until_passed(limiter: Limiter, key: dict[str, str], passes: int) -> list[Answer]:
    """Asks until so many have passed. Who is refused waits as long as it was told, and up to half as long again."""
    answers: list[Answer] = []
    deadline = time.monotonic() + PATIENCE
    while sum(answer.allowed for answer in answers) < passes and time.monotonic() < deadline:
        answer = limiter.check(key)
        answers.append(answer)
        if not answer.allowed:
            time.sleep(max(answer.retry_after, 0.001) * random.uniform(1, 1.5))
    return answers


def main(nodes: list[str]) -> int:
    wrong = 0
    # Nobody has asked for this user before.
    user = f"ada-{secrets.token_hex(8)}"
    with Limiter.connect(nodes, timeout=TIMEOUT) as limiter:
        print("kind  asked  passed  found by")
        # A node that has just started lends nothing for a term, as the one before it may have lent everything.
        answers = show("rate", until_passed(limiter, {"kind": "rate", "user": user}, 500))
        wrong += sum(answer.allowed for answer in answers) != 500
        wrong += not any(answer.path is Path.LEASE for answer in answers)

        # What cannot be lent is asked for, and exact.
        answers = show("count", [limiter.check({"kind": "count", "user": user}) for _ in range(6)])
        wrong += sum(answer.allowed for answer in answers) != 3
        wrong += answers[0].path is not Path.ASKED

        answer = limiter.try_check({"kind": "rate", "user": f"{user}-too"})
        print("at once, with no lease at hand:", "passes" if answer.allowed else "refused")
        wrong += answer.allowed
        try:
            limiter.charge({"kind": "rate", "user": user}, 1)
            wrong += 1
        except TollgateError as error:
            print("charge:", error)
        limiter.release({"kind": "rate", "user": user})
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: lease.py RESP-ADDRESS...")
    sys.exit(main(sys.argv[1:]))
