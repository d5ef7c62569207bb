"""A client that others wrote, through the gateway: what passes, and what it hears of a refusal. Argument: the port."""

import queue
import sys

import paho.mqtt.client as mqtt

PORT = int(sys.argv[1])
PATIENCE = 30


def connected(protocol, name):
    """A client that is let in, with a queue of messages and one of (identifier, reason)."""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=f"{name}-{protocol}", protocol=protocol)
    client.messages, client.published, ready = queue.Queue(), queue.Queue(), queue.Queue()
    client.on_connect = lambda client, data, flags, reason, properties: ready.put(reason)
    client.on_subscribe = lambda client, data, mid, reasons, properties: ready.put(reasons)
    client.on_message = lambda client, data, message: client.messages.put((message.topic, message.payload))
    client.on_publish = lambda client, data, mid, reason, properties: client.published.put((mid, reason.value))
    client.ready = ready
    client.connect("127.0.0.1", PORT)
    client.loop_start()
    assert ready.get(timeout=PATIENCE) == "Success"
    return client


def run(protocol):
    reader, writer = connected(protocol, "reader"), connected(protocol, "writer")
    reader.subscribe(f"paho/{protocol}/#", qos=2)
    reader.ready.get(timeout=PATIENCE)
    for qos in (0, 1, 2):
        for number in range(50):
            payload = bytes([number]) * (number * 997)
            sent = writer.publish(f"paho/{protocol}/{qos}", payload, qos=qos)
            sent.wait_for_publish(PATIENCE)
            assert reader.messages.get(timeout=PATIENCE) == (f"paho/{protocol}/{qos}", payload)
            assert writer.published.get(timeout=PATIENCE) == (sent.mid, 0)
    # One is let through, the second is not.
    for expected in (0, 0x97 if protocol == mqtt.MQTTv5 else 0):
        sent = writer.publish(f"limited/{protocol}", b"x", qos=1)
        mid, reason = writer.published.get(timeout=PATIENCE)
        # The broker may say that nobody has subscribed.
        assert (mid, reason) in ((sent.mid, expected), (sent.mid, expected or 0x10)), (mid, reason)
    for client in (reader, writer):
        client.disconnect()
        client.loop_stop()


for version in (mqtt.MQTTv311, mqtt.MQTTv5):
    run(version)
