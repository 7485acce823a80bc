"""[send NAME] and the protocols of remote write: 2.0, 1.0 for those that take nothing else, and what they say that they took."""

import itertools

import pytest
from lib.programs import wait_until
from lib.remote_write import FIRST, SECOND, Answer, Receiver
from test_send import check_whole, history, section, sender


def check_metadata(receiver):
    assert {dict(series)["__name__"] for series in receiver.taken} == receiver.metadata.keys()
    assert receiver.metadata["synop_load_load_1"] == ("gauge", "Tasks that ran or waited for a CPU or a disk, averaged over 1 minute.", "")
    assert receiver.metadata["synop_cpu_usage_user_seconds_total"][0::2] == ("counter", "seconds")


def test_the_second_protocol(cluster):
    with Receiver() as receiver:
        cluster.start_aggregator(config=section(receiver))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 10, "samples")
        check_whole(cluster, receiver, "n1")
        assert set(receiver.kinds) == {SECOND} and sender(cluster)["protocol"] == "2.0" and receiver.twice == 0
        check_metadata(receiver)
        assert any(len({dict(series)["instance"] for series, *_ in samples}) == 2 for *_, samples, _ in receiver.requests)


@pytest.mark.parametrize("how, answers, words", [
    ({"takes": (FIRST,)}, [415], "it takes no remote write 2.0 (415), and gets 1.0"),
    ({"blind": True}, [204], "it takes no remote write 2.0 (204, and nothing was written), and gets 1.0"),
    ({}, [], ""),
], ids=["refuses", "blind", "asked"])
def test_a_receiver_of_the_first_protocol(cluster, how, answers, words):
    """It gets the same samples in the other form, none is lost; the log says so once."""
    more = "" if words else "protocol = 1.0"
    with Receiver(**how) as receiver:
        cluster.start_aggregator(config=section(receiver, more=more))
        cluster.start_nodes("n1")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n1")) > 10, "samples")
        check_whole(cluster, receiver, "n1")
        assert [status for *_, status in receiver.requests[:len(answers)]] == answers
        assert receiver.kinds[len(answers):].count(SECOND) == 0 and receiver.kinds.count(SECOND) == len(answers)
        assert sender(cluster)["protocol"] == "1.0" and sender(cluster)["error"] == "" and receiver.twice == 0
        assert not words or cluster.aggregator.log().count(words) == 1, cluster.aggregator.log()
        check_metadata(receiver)


def test_a_receiver_that_does_not_take_what_was_asked_for(cluster):
    """With protocol = 2.0 nothing is dropped, and nothing is sent as 1.0."""
    with Receiver(takes=(FIRST,)) as receiver:
        cluster.start_aggregator(config=section(receiver, more="protocol = 2.0\nretry = 200ms"))
        cluster.start_nodes("n1")
        wait_until(lambda: sender(cluster)["retries"] > 3, "tries")
        one = sender(cluster)
        assert "it takes no remote write 2.0, which `protocol` asks for" in one["error"] and one["dropped"] == 0
        receiver.takes = (FIRST, SECOND)
        check_whole(cluster, receiver, "n1")
        assert set(receiver.kinds) == {SECOND}


def test_a_part_is_refused(cluster):
    """A receiver of 2.0 says how many it took: the others are dropped, and nothing is sent again."""
    def bad(sample):
        return dict(sample[0])["__name__"] == "synop_load_load_5"

    with Receiver(refuses=bad) as receiver:
        cluster.start_aggregator(config=section(receiver))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 10, "samples")
        want = history(cluster, "load", "load_1", "n1")
        wait_until(lambda: want.keys() <= receiver.find("synop_load_load_1", instance="n1").keys(), "all of n1")
        assert receiver.twice == 0 and not receiver.find("synop_load_load_5", instance="n1")
        for agent in cluster.agents.values():
            agent.stop()
        wait_until(lambda: sender(cluster)["waiting"] == 0 and sender(cluster)["sent"] == receiver.samples(), "all is counted")
        offered = sum(map(bad, itertools.chain(*(samples for *_, samples, _ in receiver.requests))))
        assert sender(cluster)["dropped"] == offered > 10
        lines = [line for line in cluster.aggregator.log().splitlines() if "dropped" in line]
        assert len(lines) == 1 and "the receiver answers 400: " in lines[0] and "are bad; " in lines[0], lines


def test_a_receiver_that_forgets_to_count(cluster):
    """Once it has said what it took, 400 without such words is about the samples."""
    state = {"bad": False}

    def answer(samples):
        return Answer(400, "no") if state["bad"] and any(dict(one[0])["instance"] == "n2" for one in samples) else Answer()

    with Receiver(answer) as receiver:
        cluster.start_aggregator(config=section(receiver))
        cluster.start_nodes("n1", "n2")
        wait_until(lambda: len(receiver.find("synop_load_load_1", instance="n2")) > 3, "samples")
        state["bad"] = True
        wait_until(lambda: sender(cluster)["dropped"] > 100, "samples that are dropped")
        check = history(cluster, "load", "load_1", "n1").keys()
        wait_until(lambda: check <= receiver.find("synop_load_load_1", instance="n1").keys(), "all of n1")
        assert set(receiver.kinds) == {SECOND}
