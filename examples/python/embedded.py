# TOLLGATE_LIBRARY=target/release/libtollgate.so python3 examples/python/embedded.py
"""Decides in this process, and prints a table. Exits with 1 where a decision is not what it should be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tollgate import Limiter, TollgateError, Verdict

CONTRACT = Path(__file__).parent.parent / "languages.yaml"

# Who asks for how much, and what it should hear: the verdict, and what is left.
EXPECTED = [
    ("ada", 3, Verdict.ALLOW, 2),
    ("ada", 3, Verdict.DENY, 2),
    ("ada", 6, Verdict.NEVER, 2),
    ("bob", 5, Verdict.ALLOW, 0),
]


def main() -> int:
    wrong = 0
    with Limiter.from_file(CONTRACT) as limiter:
        print(f"{'user':<6}{'cost':>4}  {'verdict':<8}{'left':>4}  again in")
        for user, cost, verdict, left in EXPECTED:
            answer = limiter.check({"user": user}, cost)
            again = f"{answer.retry_after:.0f} s" if answer.verdict is Verdict.DENY else "-"
            print(f"{user:<6}{cost:>4}  {answer.verdict.name.lower():<8}{answer.remaining:>4}  {again}")
            wrong += (answer.verdict, answer.remaining) != (verdict, left)
            wrong += answer.policy != "daily"

        # Five were feared, one it was.
        answer, receipt = limiter.reserve("eve", 5)
        assert receipt is not None
        limiter.settle(receipt, 1)
        left = limiter.peek("eve").remaining
        print(f"eve reserved 5 and settled at 1: {left} left")
        wrong += left != 4
        wrong += refuses(lambda: limiter.settle(receipt, 1), "settled before")

        limiter.charge("eve", 4)
        wrong += limiter.peek("eve").allowed
        limiter.refund("eve", 2)
        wrong += limiter.peek("eve").remaining != 2
        limiter.reset("eve")
        wrong += limiter.peek("eve").remaining != 5
    wrong += refuses(lambda: Limiter("contracts: 7"), "line 1")
    return 1 if wrong else 0


def refuses(call: Callable[[], object], text: str) -> bool:
    """Whether a call that must fail does not, or says something else."""
    try:
        call()
    except TollgateError as error:
        return text not in str(error)
    return True


if __name__ == "__main__":
    sys.exit(main())
