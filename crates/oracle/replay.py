#!/usr/bin/env python3
"""Second witness: replays a trace against one contract, with closed formulas and the standard library only.

    replay.py POLICIES.json TRACE.jsonl     one JSON line per request on standard output; `-` is standard input
    replay.py --batch < CASES.jsonl         each line {"policies": [...], "trace": [...]}, answers as one array,
                                            durations as text because they may exceed 64 bits

Policies are a list (or an object with a list `policies`) with the field names of the contract file. A trace
line is {"time": unix milliseconds, "user": "...", "cost": n}. Nothing is evicted and nothing is fast.
"""

import json
import re
import sys
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from zoneinfo import ZoneInfo

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
CALENDAR = {"day": 1, "week": 7, "month": 30, "year": 365}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def nanos(text):
    if text in CALENDAR:
        return CALENDAR[text] * UNITS["d"]
    number, unit = re.fullmatch(r"(\d+)(ns|us|ms|s|m|h|d)", text).groups()
    return int(number) * UNITS[unit]


# Calendar windows ----------------------------------------------------------------------------------------------


def local(zone, second):
    return (EPOCH + timedelta(seconds=second)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def first_day(period, day):
    if period == "day":
        return day
    if period == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "month" else day.replace(month=1, day=1)


@lru_cache(maxsize=None)
def day_start(zone, day):
    """The first second at which the clock of the zone shows `day` or later: minute by minute, then halving."""
    midnight = datetime(day.year, day.month, day.day)
    second = int((midnight.replace(tzinfo=timezone.utc) - EPOCH).total_seconds()) - 28 * 3600
    while local(zone, second + 60) < midnight:
        second += 60
    before, after = second, second + 60
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if local(zone, middle) >= midnight else (middle, after)
    return after


@lru_cache(maxsize=None)
def calendar_window(period, zone, second):
    """Start and end of the window: the last start that is not later, and the first one that is."""
    shown = local(zone, second).date()
    days = [first_day(period, shown)]
    days.append(first_day(period, days[0] - timedelta(days=1)))
    longest = timedelta(days={"day": 1, "week": 7, "month": 31, "year": 366}[period])
    for _ in range(3):
        days.append(first_day(period, max(days) + longest))
    starts = [day_start(zone, day) for day in days]
    return max(s for s in starts if s <= second), min(s for s in starts if s > second)


# Algorithms: each has admits, wait, remaining, retry (the time from which `n` passes), charge -------------------


class Rule:
    def __init__(self, policy):
        self.limit = policy["limit"]
        self.period = nanos(policy["per"])
        self.capacity = self.limit
        debt = policy.get("max_debt")
        self.bound = None if debt is None else self.limit + debt

    def wait(self, t, n):
        return 0

    def admits(self, t, n):
        return n <= self.capacity and self.used(t) + n <= self.limit

    def remaining(self, t):
        return max(0, floor(self.limit - self.used(t)))

    def allowance(self, t, n):
        """How much of a charge of `n` the bound on debt lets through."""
        return n if self.bound is None else min(n, max(0, floor(self.bound - self.used(t))))


class Bucket(Rule):
    """Both buckets, seen as the amount in use, which shrinks by limit per period."""

    def __init__(self, policy):
        super().__init__(policy)
        self.leaky = policy["algorithm"] == "leaky-bucket"
        self.delays = not self.leaky and policy.get("on_limit") == "delay"
        self.max_wait = nanos(policy["max_wait"]) if policy.get("max_wait") is not None else None
        self.capacity = self.limit if policy.get("burst") is None else policy["burst"]
        debt = policy.get("max_debt")
        self.bound = None if debt is None else self.capacity + debt
        self.amount, self.at = Fraction(0), 0

    def used(self, t):
        return max(Fraction(0), self.amount - Fraction((t - self.at) * self.limit, self.period))

    def time_for(self, amount):
        return max(0, ceil(amount * self.period / self.limit))

    def wait(self, t, n):
        if self.leaky:
            return self.time_for(self.used(t))
        return self.time_for(self.used(t) + n - self.capacity)

    def admits(self, t, n):
        if n > self.capacity:
            return False
        if self.delays:
            return self.max_wait is None or self.wait(t, n) <= self.max_wait
        return self.used(t) + n <= self.capacity

    def remaining(self, t):
        return max(0, floor(self.capacity - self.used(t)))

    def retry(self, t, n):
        if self.admits(t, n):
            return t
        patience = (self.max_wait or 0) if self.delays else 0
        return t + max(0, self.time_for(self.used(t) + n - self.capacity) - patience)

    def charge(self, t, n, bounded):
        used = self.used(t)
        self.amount = used + n
        if bounded and self.bound is not None:
            self.amount = max(used, min(self.amount, Fraction(self.bound)))
        self.at = t


class FixedWindow(Rule):
    def __init__(self, policy):
        super().__init__(policy)
        self.calendar = policy["per"] if policy["per"] in CALENDAR else None
        self.zone = policy.get("time_zone") or "UTC"
        self.offset = nanos(policy["offset"]) if policy.get("offset") else 0
        self.counts = {}

    def window(self, t):
        if self.calendar:
            start, end = calendar_window(self.calendar, self.zone, t // 10**9)
            return start * 10**9, end * 10**9
        start = t - (t - self.offset) % self.period
        return start, start + self.period

    def used(self, t):
        return self.counts.get(self.window(t)[0], 0)

    def retry(self, t, n):
        return t if self.admits(t, n) else self.window(t)[1]

    def charge(self, t, n, bounded):
        start = self.window(t)[0]
        self.counts[start] = self.counts.get(start, 0) + (self.allowance(t, n) if bounded else n)


class Entries(Rule):
    """Sliding log and sliding counters: entries that each stop counting at a moment known when they are made."""

    def __init__(self, policy):
        super().__init__(policy)
        self.width = 1 if policy["algorithm"] == "sliding-log" else self.period // policy.get("slices", 60)
        self.entries = []

    def used(self, t):
        return sum(n for end, n in self.entries if end > t)

    def retry(self, t, n):
        moments = [t] + sorted(end for end, _ in self.entries if end > t)
        return next(moment for moment in moments if self.used(moment) + n <= self.limit)

    def charge(self, t, n, bounded):
        end = t // self.width * self.width + self.period
        self.entries.append((end, self.allowance(t, n) if bounded else n))


class Weighted(Rule):
    def __init__(self, policy):
        super().__init__(policy)
        self.counts = {}

    def used(self, t):
        window, since = divmod(t, self.period)
        fading = Fraction(self.counts.get(window - 1, 0) * (self.period - since), self.period)
        return fading + self.counts.get(window, 0)

    def retry(self, t, n):
        if self.admits(t, n):
            return t
        window = t // self.period
        old, new = self.counts.get(window - 1, 0), self.counts.get(window, 0)
        start, room = window * self.period, self.limit - new - n
        if room < 0:
            start, old, room = start + self.period, new, self.limit - n
        return start + max(0, ceil(self.period - Fraction(room * self.period, old)))

    def charge(self, t, n, bounded):
        window = t // self.period
        self.counts[window] = self.counts.get(window, 0) + (self.allowance(t, n) if bounded else n)


RULES = {
    "token-bucket": Bucket,
    "gcra": Bucket,
    "leaky-bucket": Bucket,
    "fixed-window": FixedWindow,
    "sliding-log": Entries,
    "sliding-counters": Entries,
    "sliding-weighted": Weighted,
}


class Contract:
    def __init__(self, policies):
        self.policies = policies
        self.keys = {}

    def answer(self, line):
        cost = line.get("cost", 1)
        key = "user=" + line["user"]
        newest, rules = self.keys.get(key) or (0, [RULES[p["algorithm"]](p) for p in self.policies])
        now, asked = max(newest, line["time"] * 10**6), max(1, cost)
        refusing = [p for p, rule in zip(self.policies, rules) if not rule.admits(now, asked)]
        allowed = not refusing
        wait = max(rule.wait(now, asked) for rule in rules) if allowed else 0
        charged = [r for p, r in zip(self.policies, rules) if cost > 0 and (allowed or p.get("count_refused"))]
        for rule in charged:
            rule.charge(now, cost, bounded=not allowed)
        if charged:
            self.keys[key] = (now, rules)
        retry, named, left = None, None, min(rule.remaining(now) for rule in rules)
        if refusing:
            never = float("inf")
            retries = [rule.retry(now, asked) - now if asked <= rule.capacity else never for rule in rules]
            longest = retries.index(max(retries))
            named, left = self.policies[longest]["name"], rules[longest].remaining(now)
            retry = None if retries[longest] == never else retries[longest]
        return {
            "time": line["time"],
            "key": key,
            "cost": cost,
            "allowed": allowed,
            "policy": named,
            "remaining": left,
            "retry_after_ns": retry,
            "wait_ns": wait,
        }


def main(arguments):
    if arguments == ["--batch"]:
        for case in map(json.loads, sys.stdin):
            contract = Contract(case["policies"])
            answers = [contract.answer(line) for line in case["trace"]]
            for answer, name in [(a, n) for a in answers for n in ("retry_after_ns", "wait_ns")]:
                answer[name] = None if answer[name] is None else str(answer[name])
            print(json.dumps(answers, ensure_ascii=False))
        return
    policies, trace = arguments
    with open(policies, encoding="utf-8") as file:
        read = json.load(file)
    contract = Contract(read["policies"] if isinstance(read, dict) else read)
    with sys.stdin if trace == "-" else open(trace, encoding="utf-8") as lines:
        for line in filter(str.strip, lines):
            print(json.dumps(contract.answer(json.loads(line)), ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 2 and sys.argv[1] != "--batch"):
        sys.exit(__doc__)
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdin.reconfigure(encoding="utf-8")
    main(sys.argv[1:])
