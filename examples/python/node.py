# python3 examples/python/node.py 127.0.0.1:8080 127.0.0.1:6380
"""Asks a running node by HTTP and by RESP, with nothing but the standard library, and prints a table.

The node runs by `tollgate serve --contracts examples/languages.yaml`. Exits with 1 where a decision is not what it should be.
"""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import sys
from typing import BinaryIO, List, Tuple, Union

# What is asked for, and what it should hear: whether it passes, what is left, whether coming back helps.
EXPECTED = [(3, True, 2, False), (3, False, 2, True), (6, False, 2, False)]

Heard = Tuple[bool, int, bool]
Reply = Union[int, str, None, List["Reply"]]


def by_http(address: str, user: str, cost: int) -> Heard:
    connection = http.client.HTTPConnection(address, timeout=10)
    body = json.dumps({"key": {"user": user}, "cost": cost})
    connection.request("POST", "/v1/check", body, {"content-type": "application/json"})
    answer = json.load(connection.getresponse())
    connection.close()
    return answer["allowed"], answer["remaining"], answer["retry_after_ms"] is not None


def by_resp(address: str, user: str, cost: int) -> Heard:
    host, _, port = address.rpartition(":")
    words = ["TOLLGATE.CHECK", "COST", str(cost), "KEY", "user", user]
    with socket.create_connection((host, int(port)), timeout=10) as stream:
        parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
        stream.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
        reply = read(stream.makefile("rb"))
    assert isinstance(reply, list), reply
    answer = dict(zip(reply[::2], reply[1::2]))
    return answer["allowed"] == 1, int(str(answer["remaining"])), answer["retry_after_ms"] is not None


def read(stream: BinaryIO) -> Reply:
    """One value of RESP2."""
    line = stream.readline().rstrip(b"\r\n").decode()
    kind, rest = line[0], line[1:]
    if kind == ":":
        return int(rest)
    if kind == "$":
        return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
    if kind == "*":
        return None if rest == "-1" else [read(stream) for _ in range(int(rest))]
    if kind == "-":
        raise ValueError(rest)
    return rest


def main(http_address: str, resp_address: str) -> int:
    wrong = 0
    print(f"{'door':<6}{'cost':>4}  {'passes':<7}{'left':>4}  retry")
    for door, ask, address in [("http", by_http, http_address), ("resp", by_resp, resp_address)]:
        # Nobody has asked for this user before.
        user = f"ada-{secrets.token_hex(8)}"
        for cost, *expected in EXPECTED:
            heard = ask(address, user, cost)
            passes, left, retry = heard
            print(f"{door:<6}{cost:>4}  {str(passes).lower():<7}{left:>4}  {'yes' if retry else 'no'}")
            wrong += list(heard) != expected
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: node.py HTTP-ADDRESS RESP-ADDRESS")
    sys.exit(main(sys.argv[1], sys.argv[2]))
