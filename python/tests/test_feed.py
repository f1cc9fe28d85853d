"""The feed's chain, its heads, the overlay, and the order of evidence: the shared vectors."""

import base64
import importlib.util
import json
import math
import random

import pytest
from countersign import CountersignError, _status_lists
from countersign._evidence import LookedUpStatus, StapledStatus, weigh
from countersign._feed_tokens import Context, read_head
from countersign._jws import read_key_set
from countersign._status_lists import HeldRestriction, ListedStatus, StatusLists
from countersign.feed_chain import (
    FeedChain,
    FeedFault,
    FeedLine,
    FeedPosition,
    first_chain,
    next_chain,
    read_feed_line,
)
from support import VECTORS as FOLDER
from support import vectors

VECTORS = vectors("feed")
EVIDENCE = vectors("evidence")


def name(case):
    return case["name"]


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def position(given):
    return FeedPosition(given["epoch"], given["n"], decode(given["chain"]), given["asOf"])


def test_the_file_is_what_its_script_writes():
    script = FOLDER.parent / "tools" / "write-feed-vectors.py"
    spec = importlib.util.spec_from_file_location("write_feed_vectors", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert json.loads(json.dumps(module.VECTORS)) == VECTORS


@pytest.mark.parametrize("case", VECTORS["chains"], ids=name)
def test_chains(case):
    chain = first_chain(case["issuer"], case["epoch"])
    assert chain == decode(case["start"])
    for each in case["lines"]:
        chain = next_chain(chain, FeedLine(each["n"], each["list"], each["idx"], each["status"]))
        assert chain == decode(each["chain"])


@pytest.mark.parametrize("case", VECTORS["lines"]["valid"], ids=name)
def test_valid_lines(case):
    line = read_feed_line(case["line"])
    assert all(getattr(line, each) == case["line"][each] for each in ("n", "list", "idx", "status"))


@pytest.mark.parametrize("case", VECTORS["lines"]["invalid"], ids=name)
def test_invalid_lines(case):
    with pytest.raises(FeedFault) as caught:
        read_feed_line(case["line"])
    assert caught.value.reason == case["why"]


def test_values_that_are_no_lines():
    for value in (None, [], "", 1, {"n": float("inf"), "list": 1, "idx": 1, "status": 1}):
        with pytest.raises(FeedFault):
            read_feed_line(value)


def head_of(token):
    keys = read_key_set(VECTORS["keySet"])
    return read_head(token, Context(VECTORS["issuer"], lambda _kid: keys, VECTORS["now"] / 1000)).position


@pytest.mark.parametrize("case", VECTORS["heads"]["valid"], ids=name)
def test_valid_heads(case):
    assert head_of(case["token"]) == position(case["position"])


@pytest.mark.parametrize("case", VECTORS["heads"]["invalid"], ids=name)
def test_invalid_heads(case):
    with pytest.raises(CountersignError) as caught:
        head_of(case["token"])
    assert caught.value.code == "INVALID_TOKEN"


def result_of(call):
    try:
        return call(), None
    except FeedFault as fault:
        return "fault", fault.reason


@pytest.mark.parametrize("case", VECTORS["follow"], ids=name)
def test_following_the_chain(case):
    chain = FeedChain(position(case["position"]))
    for step in case["steps"]:
        if "line" in step:
            got = result_of(lambda: chain.apply(read_feed_line(step["line"])))
            assert got == (None if step["result"] == "ok" else step["result"], step.get("why"))
            continue
        before = chain.verified
        confirmed, reason = result_of(lambda: chain.accept(position(step["head"])))
        assert reason == step.get("why")
        if step["result"] == "ok":
            assert [each.n for each in confirmed] == step["confirms"]
            assert chain.verified == position(step["head"])
        else:
            assert confirmed == ("fault" if step["result"] == "fault" else None)
            assert chain.verified == before


def packed(entries):
    data = bytearray(32_768)
    for idx, status in entries.items():
        data[int(idx) >> 2] |= status << (int(idx) & 3) * 2
    return data


def arrive(lists, step):
    if "line" in step:
        lists.apply(read_feed_line(step["line"]), step["at"])
        return "ok"
    if "head" in step:
        return "ok" if lists.accept(position(step["head"])) else "older"
    if "snapshot" in step:
        entries = {int(number): packed(each) for number, each in step["snapshot"]["lists"].items()}
        return "ok" if lists.load(position(step["snapshot"]), entries) else "refused"
    if "list" in step:
        given = step["list"]
        taken = lists.replace(given["list"], packed(given["entries"]), (given["epoch"], given["n"]))
        return "ok" if taken else "refused"
    lists.reconnect()
    return "ok"


@pytest.mark.parametrize("case", VECTORS["followers"], ids=name)
def test_followers(case):
    lists = StatusLists()
    for step in case["steps"]:
        assert result_of(lambda: arrive(lists, step)) == (step["result"], step.get("why"))
        for entry, status in step.get("expect", {}).items():
            number, idx = map(int, entry.split(":"))
            assert lists.status(number, idx) == status, (step, entry)
        if "verified" in step:
            found = lists.verified
            assert {"epoch": found.epoch, "n": found.n, "asOf": found.as_of} == step["verified"]


LISTED = {"valid": 0, "invalid": 1, "suspended": 2}


@pytest.mark.parametrize("case", EVIDENCE["cases"], ids=lambda case: f"{case['case']} {case['name']}")
def test_evidence(case):
    listed, held, found = case["list"], case["overlay"], case["lookup"]
    verdict = weigh(
        listed and ListedStatus(LISTED[listed["status"]], (listed["epoch"], listed["n"]), listed["asOf"]),
        held and HeldRestriction(LISTED[held["status"]], held["epoch"], held["n"], EVIDENCE["now"]),
        [
            StapledStatus(each["status"], each["feed"] and (each["feed"]["epoch"], each["feed"]["n"]), each["issuedAt"])
            for each in case["staples"]
        ],
        found and LookedUpStatus(found["status"], found["at"]),
        EVIDENCE["now"],
        EVIDENCE["maxStaleSeconds"] * 1000,
        case.get("keysOverdueSeconds", 0) * 1000,
    )
    assert (verdict.verdict, verdict.source) == (case["expect"]["verdict"], case["expect"]["source"])


def test_a_restriction_at_or_after_the_staple_that_is_known_always_counts():
    """Random histories of one agent, of which a site knows some moments."""
    draw = random.Random(7)
    active = 0
    for _ in range(20_000):
        # The status after each change; between them, other agents change.
        history = ["valid"]
        for _ in range(draw.randint(1, 12)):
            is_own = draw.random() < 0.6
            history.append(draw.choice(["valid", "suspended"]) if is_own else history[-1])
        newest = len(history) - 1
        listed_at, stapled_at = draw.randint(0, newest), draw.randint(0, newest)
        # The overlay has the newest restriction whose line came after the head.
        seen = draw.randint(listed_at, newest)
        restricted = [n for n in range(listed_at + 1, seen + 1) if history[n] == "suspended"]
        held = HeldRestriction(2, "e", restricted[-1], 0) if restricted and draw.random() < 0.8 else None
        epoch = draw.choice(["e", "e", "e", "other", None])
        status = "active" if history[stapled_at] == "valid" else "suspended"
        staple = StapledStatus(status, epoch and (epoch, stapled_at), draw.randint(0, 1000))
        listed = ListedStatus(LISTED[history[listed_at]], ("e", listed_at), draw.randint(0, 1000))
        verdict = weigh(listed, held, [staple], None, 1000, math.inf)
        known = [n for n in [listed_at] if history[n] == "suspended"] + ([held.n] if held else [])
        # Statements of another epoch prove nothing about this one.
        own = stapled_at if status == "active" and epoch == "e" else -1
        assert verdict.verdict in ("active", "suspended")
        if verdict.verdict == "active":
            active += 1
            assert all(n < own for n in known)
            assert status == "active" or (epoch == "e" and stapled_at < listed_at)
    assert 2_000 < active < 18_000


def test_a_list_that_was_fetched_alone_from_before_the_known_changes(monkeypatch):
    lists = StatusLists()
    lists.load(FeedPosition("e", 40, bytes(32), 0), {})
    # The change 40 of it is not known here, and could be a suspension.
    assert not lists.replace(2, packed({}), ("e", 39))
    assert lists.replace(2, packed({}), ("e", 40))
    monkeypatch.setattr(_status_lists, "_MAX_CHANGES", 2)
    chain = bytes(32)
    for n in (41, 42, 43):
        line = FeedLine(n, 3, n, 2)
        chain = next_chain(chain, line)
        lists.apply(line, 1)
        lists.accept(FeedPosition("e", n, chain, n))
    assert not lists.replace(3, packed({}), ("e", 40))
    assert lists.replace(3, packed({41: 2}), ("e", 41))
    assert [lists.status(3, idx) for idx in (41, 42, 43, 44)] == [2, 2, 2, 0]


def test_forged_lines_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(_status_lists, "_MAX_OVERLAY", 10)
    lists = StatusLists()
    lists.load(FeedPosition("e", 40, bytes(32), 0), {1: packed({})})
    for round_ in range(5):
        lists.reconnect()
        for n in range(41, 61):
            lists.apply(FeedLine(n, 1, 100 * round_ + n, 2), 1)
    assert len(lists._overlay) == 10


def test_a_list_that_was_fetched_alone_confirms_its_restrictions():
    lists = StatusLists()
    lists.load(FeedPosition("e", 40, bytes(32), 0), {1: packed({})})
    lists.apply(FeedLine(41, 1, 7, 2), 1)
    lists.apply(FeedLine(42, 1, 8, 2), 1)
    assert lists.replace(1, packed({}), ("e", 41))
    assert [lists.status(1, idx) for idx in (7, 8)] == [0, 2]
    assert lists.listed(1, 7).feed == ("e", 41)


def test_a_snapshot_does_not_replace_a_newer_list():
    lists = StatusLists()
    lists.load(FeedPosition("e", 40, bytes(32), 0), {1: packed({})})
    assert lists.replace(2, packed({7: 2}), ("e", 43))
    assert lists.load(FeedPosition("e", 42, bytes(32), 1), {1: packed({1: 2}), 2: packed({})})
    assert [lists.status(1, 1), lists.status(2, 7)] == [2, 2]
    # Two histories of one number.
    assert not lists.load(FeedPosition("e", 42, b"x" * 32, 2), {1: packed({})})
    assert lists.load(FeedPosition("e", 44, bytes(32), 2), {1: packed({}), 2: packed({})})
    assert [lists.status(1, 1), lists.status(2, 7)] == [0, 0]


def test_restrictions_outlive_the_key_that_signed_them():
    lists = StatusLists()
    lists.load(FeedPosition("e", 40, bytes(32), 0), {1: packed({7: 2, 8: 1})})
    lists.distrust()
    assert lists.listed(1, 6) is None
    staple = StapledStatus("active", ("e", 99), 1000)
    verdicts = [weigh(lists.listed(1, idx), None, [staple], None, 1000, math.inf).verdict for idx in (6, 7, 8)]
    assert verdicts == ["active", "suspended", "replaced"]
