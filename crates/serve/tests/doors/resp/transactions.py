"""What redis-py's pipelines do by default: they are transactions."""

import sys

import redis

for protocol in (2, 3):
    client = redis.Redis(port=int(sys.argv[1]), protocol=protocol)
    with client.pipeline() as pipe:
        for _ in range(5):
            pipe.execute_command("CL.THROTTLE", f"user:{protocol}", 1, 30, 3600, 1)
        replies = pipe.execute()
    assert [reply[0] for reply in replies] == [0, 0, 1, 1, 1], replies

    # One command that makes no sense: none is carried out, and the error says which it was.
    with client.pipeline() as pipe:
        pipe.execute_command("TOLLGATE.CHARGE", "COST", 2, "KEY", "user", protocol)
        pipe.execute_command("TOLLGATE.CHARGE", "COST", "x", "KEY", "user", protocol)
        try:
            pipe.execute()
            raise SystemExit("the transaction was carried out")
        except redis.exceptions.ResponseError as error:
            assert "not an integer" in str(error), error

    # One that fails when it is carried out does not stop the others.
    with client.pipeline() as pipe:
        pipe.execute_command("TOLLGATE.CHARGE", "COST", 2, "KEY", "user", protocol)
        pipe.execute_command("TOLLGATE.SETTLE", "receipt", 1)
        pipe.execute_command("TOLLGATE.PEEK", "KEY", "user", protocol)
        first, second, third = pipe.execute(raise_on_error=False)
    assert first == 1, first
    assert isinstance(second, redis.exceptions.ResponseError), second
    stands = third[0] if protocol == 3 else dict(zip(third[0][::2], third[0][1::2]))
    assert stands[b"remaining"] == 8, third

    with client.pipeline() as pipe:
        try:
            pipe.watch("user")
            raise SystemExit("a key is watched")
        except redis.exceptions.ResponseError as error:
            assert "WATCH" in str(error), error
    assert client.ping()
