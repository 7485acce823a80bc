"""librdkafka's own mock cluster in a process of its own: brokers that speak Kafka's protocol, with all topics in memory. Prints where
they are; then does what lines on standard input say: "down", "up", "throttle MS", "refuse COUNT" (of the next requests to
produce, as brokers do that are no leader)."""

import ctypes
import sys

PRODUCE, NOT_LEADER = 0, 6


def main():
    kafka = ctypes.CDLL("librdkafka.so.1")
    for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(kafka, name).restype = ctypes.c_void_p
    kafka.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    why = ctypes.create_string_buffer(512)
    client = kafka.rd_kafka_new(0, ctypes.c_void_p(kafka.rd_kafka_conf_new()), why, 512)
    assert client, why.value
    cluster = ctypes.c_void_p(kafka.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), 1))
    print(kafka.rd_kafka_mock_cluster_bootstraps(cluster).decode(), flush=True)
    for line in sys.stdin:
        word, *number = line.split()
        if word == "throttle":
            kafka.rd_kafka_mock_broker_set_rtt(cluster, 1, int(number[0]))
        elif word == "refuse":
            errors = [ctypes.c_int(NOT_LEADER)] * int(number[0])
            kafka.rd_kafka_mock_push_request_errors(cluster, ctypes.c_int16(PRODUCE), ctypes.c_size_t(len(errors)), *errors)
        else:
            getattr(kafka, f"rd_kafka_mock_broker_set_{word}")(cluster, 1)
        print("done", flush=True)


main()
