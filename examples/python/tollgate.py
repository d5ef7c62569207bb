"""A limiter in the process: libtollgate by ctypes, which every Python has.

By a contract, counting in this process only:

    with Limiter.from_file("contracts.yaml") as limiter:
        answer = limiter.check({"user": "ada"})
        if not answer.allowed:
            print("again in", answer.retry_after, "seconds")

By leases of nodes, for contracts under `coordination: lease`, counting with everybody else:

    with Limiter.connect(["10.0.0.1:6380", "10.0.0.2:6380"]) as limiter:
        limiter.check({"user": "ada"})

Any number of threads may share a limiter; only `close` must not overlap with anything else. Not here: asking a node
for every request, see node.py beside this file.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Mapping, Sequence
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from enum import IntEnum
from typing import Union

Key = Union[str, bytes, Mapping[str, str]]
"""Entries by name, or a bare value for contracts that count by one entry."""

ABI_MAJOR = 1


class Verdict(IntEnum):
    """May a request pass?"""

    ALLOW = 0
    DELAY = 1
    DENY = 2
    NEVER = 3


class Path(IntEnum):
    """How an answer was found."""

    HERE = 0
    LEASE = 1
    WAITED = 2
    DENIED = 3
    ASKED = 4
    FAILED = 5


class TollgateError(Exception):
    """A call that failed. A refusal is no failure: it is an answer."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Answer:
    """The answer to one request; spans are in seconds."""

    verdict: Verdict
    path: Path
    allowed: bool
    bound: bool
    shadowed: bool
    limit: int
    remaining: int
    wait: float
    retry_after: float
    reset_after: float
    contract: str
    policy: str


class Receipt:
    """What a request was charged, to be settled once at its real cost."""

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self._library = library
        self._handle = handle

    def __del__(self) -> None:
        self._library.tollgate_receipt_free(self._handle)


class Limiter:
    """Decides in the process, by a contract or by leases of nodes."""

    _handle: c_void_p
    _library: ctypes.CDLL

    def __init__(
        self, contract: str, *, alone: bool = False, bytes_max: int = 0, library: str | None = None
    ) -> None:
        self._handle = c_void_p()
        self._library = _load(library)
        text = contract.encode()
        options = _Options(bytes_max, alone, False)
        code = self._library.tollgate_open(text, len(text), byref(options), byref(self._handle))
        self._expect_ok(code)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **options: object) -> Limiter:
        """A limiter by a contract file; options as for `Limiter`."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), **options)  # type: ignore[arg-type]

    @classmethod
    def connect(
        cls,
        nodes: Sequence[str],
        *,
        token: str | None = None,
        zone: str | None = None,
        timeout: float = 0.2,
        library: str | None = None,
    ) -> Limiter:
        """A limiter by leases of nodes, named by their RESP doors; `timeout` in seconds is the longest that a call waits."""
        limiter = cls.__new__(cls)
        limiter._handle = c_void_p()
        limiter._library = _load(library)
        texts = [_text(node) for node in nodes]
        options = _ClientOptions(
            nodes=(_Text * len(texts))(*texts),
            nodes_count=len(texts),
            token=_text(token),
            zone=_text(zone),
            timeout_ns=max(1, round(timeout * 1e9)),
        )
        limiter._expect_ok(limiter._library.tollgate_connect(byref(options), byref(limiter._handle)))
        return limiter

    def check(self, key: Key, cost: int = 1) -> Answer:
        """May this key spend `cost` now? It is charged where it may. With leases it waits where none is at hand."""
        answer = _Answer()
        self._expect_ok(self._library.tollgate_check(self._open(), byref(_key(key)), cost, byref(answer)))
        return answer.value()

    def try_check(self, key: Key, cost: int = 1) -> Answer:
        """The same without ever waiting: where no lease is at hand, it refuses and asks for one."""
        answer = _Answer()
        self._expect_ok(self._library.tollgate_try_check(self._open(), byref(_key(key)), cost, byref(answer)))
        return answer.value()

    def peek(self, key: Key) -> Answer:
        """How does this key stand? Nothing is charged."""
        return self.check(key, 0)

    def reserve(self, key: Key, cost: int) -> tuple[Answer, Receipt | None]:
        """As `check`, with a receipt where the request passes."""
        answer, receipt = _Answer(), c_void_p()
        code = self._library.tollgate_reserve(
            self._open(), byref(_key(key)), cost, byref(answer), byref(receipt)
        )
        self._expect_ok(code)
        return answer.value(), Receipt(self._library, receipt) if receipt else None

    def settle(self, receipt: Receipt, actual: int) -> None:
        """Charges the difference between what a request really cost and what it was charged."""
        self._expect_ok(self._library.tollgate_settle(self._open(), receipt._handle, actual))

    def charge(self, key: Key, cost: int) -> None:
        """Charges without asking; the key may go into debt."""
        self._expect_ok(self._library.tollgate_charge(self._open(), byref(_key(key)), cost))

    def refund(self, key: Key, cost: int) -> None:
        """Gives tokens back."""
        self._expect_ok(self._library.tollgate_refund(self._open(), byref(_key(key)), cost))

    def reset(self, key: Key) -> None:
        """Forgets everything about a key."""
        self._expect_ok(self._library.tollgate_reset(self._open(), byref(_key(key))))

    def release(self, key: Key) -> None:
        """Gives back what is held of a key by leases."""
        self._expect_ok(self._library.tollgate_release(self._open(), byref(_key(key))))

    def close(self) -> None:
        """Ends the limiter; a second time does nothing."""
        handle, self._handle = self._handle, c_void_p()
        self._library.tollgate_close(handle)

    def __enter__(self) -> Limiter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> c_void_p:
        if not self._handle:
            raise ValueError("the limiter is closed")
        return self._handle

    def _expect_ok(self, code: int) -> None:
        if code != 0:
            raise TollgateError(code, self._library.tollgate_last_error().decode())


class _Options(ctypes.Structure):
    _fields_ = [("bytes_max", c_uint64), ("alone", c_bool), ("refuse_when_full", c_bool)]


class _Text(ctypes.Structure):
    _fields_ = [("data", c_char_p), ("length", c_size_t)]


class _ClientOptions(ctypes.Structure):
    _fields_ = [
        ("nodes", POINTER(_Text)),
        ("nodes_count", c_size_t),
        ("token", _Text),
        ("zone", _Text),
        ("name", _Text),
        ("timeout_ns", c_uint64),
        ("keys_max", c_uint64),
        ("allow_when_away", c_bool),
    ]


class _Entry(ctypes.Structure):
    _fields_ = [("name", _Text), ("value", _Text)]


class _Key(ctypes.Structure):
    _fields_ = [("entries", POINTER(_Entry)), ("count", c_size_t)]


class _Answer(ctypes.Structure):
    _fields_ = [
        ("verdict", c_int32),
        ("path", c_int32),
        ("allowed", c_bool),
        ("bound", c_bool),
        ("shadowed", c_bool),
        ("limit", c_uint64),
        ("remaining", c_uint64),
        ("wait_ns", c_uint64),
        ("retry_after_ns", c_uint64),
        ("reset_after_ns", c_uint64),
        ("contract", c_char * 64),
        ("policy", c_char * 64),
    ]

    def value(self) -> Answer:
        return Answer(
            verdict=Verdict(self.verdict),
            path=Path(self.path),
            allowed=self.allowed,
            bound=self.bound,
            shadowed=self.shadowed,
            limit=self.limit,
            remaining=self.remaining,
            wait=self.wait_ns / 1e9,
            retry_after=self.retry_after_ns / 1e9,
            reset_after=self.reset_after_ns / 1e9,
            contract=self.contract.decode(),
            policy=self.policy.decode(),
        )


def _text(value: str | bytes | None) -> _Text:
    if value is None:
        return _Text(None, 0)
    data = value.encode() if isinstance(value, str) else value
    return _Text(data, len(data))


def _key(key: Key) -> _Key:
    if isinstance(key, (str, bytes)):
        entries = [_Entry(_text(None), _text(key))]
    else:
        entries = [_Entry(_text(name), _text(value)) for name, value in key.items()]
    return _Key((_Entry * len(entries))(*entries), len(entries))


def _load(path: str | None) -> ctypes.CDLL:
    """The library at a path, at that in TOLLGATE_LIBRARY, or where the system finds it."""
    path = path or os.environ.get("TOLLGATE_LIBRARY") or ctypes.util.find_library("tollgate")
    if path is None:
        raise OSError("no libtollgate: build it by `cargo build --release -p tollgate-abi` and set TOLLGATE_LIBRARY")
    library = ctypes.CDLL(path)
    limiter, key, answer = c_void_p, POINTER(_Key), POINTER(_Answer)
    arguments: dict[str, list[type]] = {
        "open": [c_char_p, c_size_t, POINTER(_Options), POINTER(c_void_p)],
        "connect": [POINTER(_ClientOptions), POINTER(c_void_p)],
        "check": [limiter, key, c_uint64, answer],
        "try_check": [limiter, key, c_uint64, answer],
        "reserve": [limiter, key, c_uint64, answer, POINTER(c_void_p)],
        "settle": [limiter, c_void_p, c_uint64],
        "charge": [limiter, key, c_uint64],
        "refund": [limiter, key, c_uint64],
        "reset": [limiter, key],
        "release": [limiter, key],
        "close": [limiter],
        "receipt_free": [c_void_p],
    }
    for name, types in arguments.items():
        function = library[f"tollgate_{name}"]
        function.argtypes = types
        function.restype = None if name in ("close", "receipt_free") else c_int32
    library.tollgate_last_error.restype = c_char_p
    library.tollgate_abi_version.restype = c_uint32
    version = library.tollgate_abi_version()
    if version >> 16 != ABI_MAJOR:
        raise OSError(f"{path} has version {version >> 16} of the interface, and this file speaks {ABI_MAJOR}")
    return library
