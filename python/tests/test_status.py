"""A follower of an issuer on a real server, with a proxy in between that withholds, repeats and alters what is sent."""

import json
import math
import os
import threading
import zlib

import pytest
from countersign import CountersignError, StatusFollower, verify_certificate
from countersign import status as module
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from issuer import EPOCH, Issuer, encode, jwk_of
from support import Clock

LATEST, FEED, SNAPSHOT = "/api/v1/feed/latest", "/api/v1/feed", "/api/v1/snapshot"
KEYS = "/.well-known/jwks.json"
OTHER_EPOCH = "EBESExQVFhcYGRobHB0eHw"


class Stepped(StatusFollower):
    """A follower whose thread is the test: nothing happens but by ``step``."""

    def _start(self):
        pass

    def step(self):
        self._serve_wants()
        self._attempt(self._advance)


class World:
    def __init__(self, issuer=None, **options):
        self.clock = Clock()
        self.issuer = Issuer(self.clock)
        self.faults = []
        self.follower = Stepped(
            self.issuer.origin,
            timeout=0,
            on_fault=self.faults.append,
            clock=self.clock,
            elapsed=self.clock,
            **options,
        )
        self.certificate = self.issuer.certificate()

    def step(self, seconds=5):
        self.clock.seconds += seconds
        self.follower.step()

    def verdict(self, **named):
        """``active``, or the code of the refusal."""
        try:
            verify_certificate(self.certificate, status=self.follower, **named)
            return "active"
        except CountersignError as error:
            return error.code

    def count(self, path):
        return self.issuer.asked.count(path)


@pytest.fixture
def world():
    world = World()
    world.step(0)
    assert world.verdict() == "active"
    yield world
    world.issuer.stop()


SUSPENDED, REVOKED, UNAVAILABLE = "CERTIFICATE_SUSPENDED", "CERTIFICATE_REVOKED", "ISSUER_UNAVAILABLE"


def test_a_suspension_its_end_and_a_revocation(world):
    for status, verdict in ((2, SUSPENDED), (0, "active"), (1, REVOKED)):
        world.issuer.change(status)
        world.step()
        assert world.verdict() == verdict
    assert (world.faults, world.count(SNAPSHOT), world.follower.status_age_seconds) == ([], 1, 0)


def test_the_certificate_is_verified_too(world):
    assert world.verdict() == "active"
    verified = verify_certificate(world.certificate, status=world.follower)
    assert verified.status_as_of == world.clock()
    world.certificate = world.issuer.certificate(key=Ed25519PrivateKey.generate())
    assert world.verdict() == "INVALID_TOKEN"
    world.certificate = "not.a.token"
    assert world.verdict() == "INVALID_TOKEN"
    for named in ({"issuers": {}}, {"lookup": ("active", 0)}):
        with pytest.raises(CountersignError) as caught:
            verify_certificate(world.certificate, status=world.follower, **named)
        assert caught.value.code == "INVALID_ARGUMENT"
    with pytest.raises(CountersignError) as caught:
        verify_certificate(world.certificate)
    assert caught.value.code == "INVALID_ARGUMENT"


def test_nothing_is_known_before_the_lists_were_read():
    world = World()
    try:
        world.issuer.instead[SNAPSHOT] = lambda _status, _body: (503, "{}")
        assert (world.verdict(), world.follower.status_age_seconds) == (UNAVAILABLE, math.inf)
        world.step()
        assert world.verdict() == UNAVAILABLE
        # A staple of an active agent is enough, for as long as it is young enough.
        staple = world.issuer.staple("active")
        assert world.verdict(staple=staple) == "active"
        world.clock.seconds += 301
        assert world.verdict(staple=staple) == UNAVAILABLE
        world.issuer.instead.clear()
        world.step()
        assert world.verdict() == "active"
    finally:
        world.issuer.stop()


def altered(change):
    """A proxy that changes the lines of a response, and passes heads."""

    def instead(status, body):
        values = [json.loads(each) for each in body.split("\n") if each]
        lines = [each for each in values if "n" in each]
        return status, "".join(json.dumps(each) + "\n" for each in [*change(lines), values[-1]])

    return instead


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda lines: lines[:-1], "position"),
        (lambda lines: [each for each in lines if each["n"] != 2], "number"),
        (lambda lines: [lines[0], lines[2], lines[1]], "number"),
        (lambda lines: [*lines, lines[-1]], "number"),
        (lambda lines: [*lines[:-1], {**lines[-1], "idx": 9}], "position"),
        (lambda lines: [*lines[:-1], {**lines[-1], "status": 0}], "position"),
        (lambda lines: [*lines[:-1], {**lines[-1], "n": "3"}], "form"),
    ],
    ids=["withheld", "dropped", "swapped", "repeated", "another entry", "no longer a restriction", "no line"],
)
def test_a_proxy_that_alters_lines_is_noticed_at_the_next_head(world, change, reason):
    world.issuer.change(2, idx=8)
    world.issuer.change(0, idx=8)
    world.issuer.change(2)
    world.issuer.instead[LATEST] = altered(change)
    world.step()
    # The snapshot has it, at once.
    assert (world.verdict(), world.faults[0], world.count(SNAPSHOT)) == (SUSPENDED, reason, 2)


def test_a_proxy_that_hides_all_lines_does_not_help_itself(world):
    world.issuer.change(2)
    world.issuer.instead[LATEST] = altered(lambda _lines: [])
    world.step()
    assert (world.verdict(), world.faults, world.count(FEED)) == (SUSPENDED, [], 1)


def test_heads_are_withheld_and_lines_pass():
    world = World(max_stale_seconds=60)
    try:
        world.step(0)
        old = world.issuer.head()
        world.issuer.instead[LATEST] = lambda _status, _body: (200, world.issuer.lines(0, old))
        world.issuer.change(2, idx=9)
        world.step()
        # The restriction counts, and what is not restricted ages.
        assert world.verdict() == "active"
        for _ in range(11):
            world.step()
        assert (world.verdict(), world.follower.status_age_seconds) == ("active", 60)
        world.issuer.change(2)
        world.step(1)
        assert world.verdict() == SUSPENDED
        world.certificate = world.issuer.certificate(idx=8)
        assert world.verdict() == UNAVAILABLE
        assert world.count(SNAPSHOT) == 1
    finally:
        world.issuer.stop()


def test_what_is_old_changes_nothing(world):
    latest, snapshot = world.issuer.latest(), json.dumps(world.issuer.snapshot())
    world.issuer.change(2)
    world.step()
    verified = world.clock()
    world.issuer.change(0)
    world.issuer.instead[LATEST] = lambda _status, _body: (200, latest)
    world.issuer.instead[SNAPSHOT] = lambda _status, _body: (200, snapshot)
    for _ in range(10):
        world.step()
        assert world.verdict() == SUSPENDED
        assert world.follower.status_age_seconds == world.clock() - verified
    # An expired head is a fault, and the old snapshot is refused.
    for _ in range(20):
        world.step()
    assert world.verdict() == SUSPENDED
    assert {*world.faults} == {"token", "snapshot"}
    world.issuer.instead.clear()
    world.step(10)
    assert (world.verdict(), world.follower.status_age_seconds) == ("active", 0)


def test_a_forged_restriction_goes_away(world):
    def forged(status, body):
        values = [json.loads(each) for each in body.split("\n") if each]
        line = {"n": world.issuer.n + 1, "list": 1, "idx": 7, "status": 2}
        return status, "".join(json.dumps(each) + "\n" for each in [*values[:-1], line, values[-1]])

    world.issuer.instead[LATEST] = forged
    world.step()
    assert (world.verdict(), world.faults, world.count(SNAPSHOT)) == (SUSPENDED, ["position"], 2)
    world.issuer.instead.clear()
    world.step(4.9)
    assert world.verdict() == SUSPENDED
    world.step(0.2)
    assert (world.verdict(), world.faults) == ("active", ["position"])


def test_faults_do_not_load_a_snapshot_each_time(world):
    world.issuer.instead[LATEST] = altered(lambda lines: [{"n": world.issuer.n + 1, "list": 1, "idx": 9, "status": 2}])
    for _ in range(12):
        world.step()
    assert (len(world.faults), world.count(SNAPSHOT)) == (12, 1 + 6)
    assert world.verdict() == "active"


def test_another_epoch(world):
    world.issuer.change(2)
    world.step()
    assert world.verdict() == SUSPENDED
    world.issuer.begin_epoch(OTHER_EPOCH)
    world.issuer.change(1)
    world.step()
    assert (world.verdict(), world.faults) == (REVOKED, ["epoch"])


def test_a_service_that_has_lost_changes_learns_it_from_the_cursor(world):
    issuer = world.issuer
    issuer.change(2, idx=9)
    kept = bytes(issuer.lists[1])
    issuer.change(2)
    world.step()
    issuer.changes.pop()
    issuer.chain.pop()
    issuer.lists[1] = bytearray(kept)
    world.step()
    # Heads and snapshots do not fit what was verified.
    assert (world.verdict(), world.faults, world.count(FEED)) == (SUSPENDED, ["position", "snapshot"], 1)
    world.step(10)
    assert (world.verdict(), world.faults[2:], issuer.epoch) == ("active", ["epoch"], EPOCH[::-1])


def test_more_changes_than_the_window(world):
    world.issuer.change(2)
    for idx in range(100, 200):
        world.issuer.change(2, idx=idx)
    world.step()
    assert (world.verdict(), world.count(FEED), world.count(SNAPSHOT)) == (SUSPENDED, 1, 1)
    for idx in range(200, 300):
        world.issuer.change(2, idx=idx)
    world.issuer.change(0)
    for status in (410, 429, 503):
        world.issuer.instead[FEED] = lambda _status, _body: (status, "{}")
    world.step(10)
    assert (world.verdict(), world.count(FEED), world.count(SNAPSHOT), world.faults) == ("active", 2, 2, [])


def test_a_list_that_is_new(world):
    world.certificate = world.issuer.certificate(number=2)
    world.issuer.change(2, number=2, idx=8)
    world.step()
    assert (world.verdict(), world.count("/status/2")) == (UNAVAILABLE, 0)
    world.step()
    assert (world.verdict(), world.count("/status/2")) == ("active", 1)
    world.issuer.change(2, number=2)
    world.step()
    assert (world.verdict(), world.count("/status/2")) == (SUSPENDED, 1)


def test_an_old_copy_of_a_new_list(world):
    world.certificate = world.issuer.certificate(number=2)
    world.issuer.change(2, number=2, idx=8)
    old = world.issuer.status_list(2)
    world.issuer.change(2, number=2)
    world.step()
    world.issuer.instead["/status/2"] = lambda _status, _body: (200, old)
    world.verdict()
    world.step()
    # The later change is applied to it.
    assert (world.verdict(), world.count("/status/2")) == (SUSPENDED, 1)


def test_a_list_that_does_not_exist_is_asked_for_every_five_seconds(world):
    world.certificate = world.issuer.certificate(number=3)
    for _ in range(10):
        assert world.verdict() == UNAVAILABLE
        world.step(1)
    assert world.count("/status/3") == 2


def test_a_key_that_was_removed(world):
    stolen = world.issuer.keys[0]
    world.issuer.keys = [Ed25519PrivateKey.generate()]
    certificate = world.issuer.certificate()
    # Whoever has the key goes on to sign.
    world.issuer.instead[LATEST] = lambda _status, _body: (200, world.issuer.lines(0, world.issuer.head(stolen)))
    world.issuer.instead[SNAPSHOT] = lambda _status, _body: (503, "{}")
    world.step(55)
    assert world.verdict() == "active"
    world.step(5)
    world.certificate = certificate
    assert (world.verdict(), world.follower.status_age_seconds) == (UNAVAILABLE, math.inf)
    world.issuer.instead.clear()
    world.step()
    assert world.verdict() == "active"


def test_a_list_of_a_removed_key_does_not_count_with_the_heads_of_another(world):
    issuer = world.issuer
    issuer.change(2)
    world.step()
    staple = issuer.staple("active", feed={"epoch": issuer.epoch, "n": 0})
    other = Ed25519PrivateKey.generate()
    issuer.keys = [other, issuer.keys[0]]
    issuer.instead[SNAPSHOT] = lambda _status, _body: (503, "{}")
    world.step(60)
    assert world.verdict() == SUSPENDED
    issuer.keys = [other]
    world.step(60)
    world.certificate = issuer.certificate(idx=8)
    assert (world.verdict(), world.follower.status_age_seconds) == (UNAVAILABLE, math.inf)
    # The restriction outlives the key, and no older staple ends it.
    world.certificate = issuer.certificate()
    assert world.verdict() == world.verdict(staple=issuer.staple("active")) == SUSPENDED
    assert world.verdict(staple=staple) == SUSPENDED
    issuer.instead.clear()
    issuer.change(0)
    world.step()
    assert world.verdict() == "active"


def test_keys_that_cannot_be_confirmed_make_the_status_older(world):
    world.issuer.instead[KEYS] = lambda _status, _body: (503, "{}")
    for _ in range(12 * 10):
        world.step()
    assert world.verdict() == "active"
    assert world.follower.status_age_seconds == 300
    world.step(1)
    assert world.verdict() == UNAVAILABLE


def test_a_new_key_is_read_when_a_certificate_has_it(world):
    world.issuer.keys.append(Ed25519PrivateKey.generate())
    world.certificate = world.issuer.certificate(key=world.issuer.keys[1])
    world.clock.seconds += 6
    assert world.verdict() == "INVALID_TOKEN"
    world.step(0)
    assert world.verdict() == "active"


def test_pinned_keys_count_if_the_issuer_lists_them():
    world = World()
    try:
        pinned = Ed25519PrivateKey.generate()
        key_set = {"keys": [jwk_of(pinned), jwk_of(world.issuer.keys[0])]}
        world.follower = Stepped(
            world.issuer.origin, key_set=key_set, timeout=0, clock=world.clock, elapsed=world.clock
        )
        world.step()
        assert world.verdict() == "active"
        world.certificate = world.issuer.certificate(key=pinned)
        assert world.verdict() == "INVALID_TOKEN"
    finally:
        world.issuer.stop()


def test_staples(world):
    issuer = world.issuer
    before = issuer.staple("active")
    issuer.change(2)
    world.step()
    assert world.verdict(staple=before) == SUSPENDED
    issuer.change(0)
    assert world.verdict(staple=issuer.staple("active")) == "active"
    assert world.verdict(staple=issuer.staple("active", feed={"epoch": OTHER_EPOCH, "n": 99})) == SUSPENDED
    world.step()
    assert world.verdict() == "active"
    # A staple that does not verify, or is another agent's, is as if it had been left out.
    for claims in ({"iss": "https://other.example"}, {"cnf": {"jkt": encode(bytes(32))}}, {"exp": 1}, {"feed": 7}):
        assert world.verdict(staple=issuer.staple("suspended", **claims)) == "active"
    assert world.verdict(staple="x") == "active"
    # One that restricts is remembered if the agent leaves it out, until the lists are newer.
    issuer.change(2)
    assert world.verdict(staple=issuer.staple("suspended")) == SUSPENDED
    assert world.verdict() == SUSPENDED
    issuer.change(0)
    world.step()
    assert world.verdict() == "active"
    assert world.verdict(staple=issuer.staple("revoked")) == REVOKED
    world.step()
    assert world.verdict(staple=issuer.staple("active")) == REVOKED


def test_a_restriction_by_a_lookup(world):
    at = world.follower.now()
    assert world.verdict(lookup=("suspended", at)) == SUSPENDED
    assert world.verdict(lookup=("revoked", at)) == REVOKED
    world.clock.seconds += 4
    assert world.verdict(lookup=("suspended", at), staple=world.issuer.staple("active")) == SUSPENDED
    world.clock.seconds += 1
    assert world.verdict(lookup=("suspended", at), staple=world.issuer.staple("active")) == "active"
    world.step()
    assert world.verdict(lookup=("suspended", at)) == "active"


def test_a_clock_that_is_set_back_revives_nothing(world):
    staple = world.issuer.staple("active")
    world.step(900)
    monotonic = Clock()
    world.follower._elapsed = monotonic
    world.follower.step()
    world.step(5)
    now = world.follower.now()
    world.follower._clock = lambda: 1_000_000_000.0
    monotonic.seconds += 10
    assert world.follower.now() >= now
    assert world.verdict(staple=staple) == "active"
    world.issuer.change(2)
    world.step()
    assert world.verdict(staple=staple) == SUSPENDED


@pytest.mark.parametrize(
    "answer",
    [
        (200, ""),
        (200, "{}\n"),
        (200, "[" * 100_000),
        (200, '{"head":1}\n'),
        (200, '{"n":NaN}\n{"head":"a.b.c"}\n'),
        (200, b"\xff\n"),
        (200, "x" * 70_000),
        (302, "/api/v1/feed/moved"),
        (500, "{}"),
    ],
    ids=lambda answer: f"{answer[0]} {len(answer[1])}",
)
def test_answers_that_are_none(world, answer):
    world.issuer.instead[LATEST] = lambda _status, _body: answer
    world.step()
    assert world.verdict() == "active"
    assert "/api/v1/feed/moved" not in world.issuer.asked
    world.issuer.instead.clear()
    world.issuer.change(2)
    world.step()
    assert world.verdict() == SUSPENDED


@pytest.mark.parametrize(
    "change",
    [
        lambda snapshot, _issuer: {**snapshot, "lists": []},
        lambda snapshot, _issuer: {**snapshot, "lists": snapshot["lists"] * 2},
        lambda snapshot, _issuer: {**snapshot, "lists": [{"list": 1, "lst": "AAAA"}]},
        lambda snapshot, _issuer: {**snapshot, "lists": [{"list": 1, "lst": encode(zlib.compress(b"\2" + bytes(32_767)))}]},
        lambda snapshot, _issuer: {**snapshot, "head": snapshot["manifest"]},
        lambda snapshot, issuer: {**snapshot, "head": issuer.head(n=99)},
        lambda snapshot, issuer: {**snapshot, "head": issuer.head(chain=encode(bytes(32)))},
        lambda snapshot, issuer: {**snapshot, "head": issuer.head(Ed25519PrivateKey.generate())},
        lambda snapshot, _issuer: {"manifest": 1},
        lambda _snapshot, _issuer: [],
    ],
)
def test_snapshots_that_are_none(change):
    world = World()
    try:
        world.issuer.instead[SNAPSHOT] = lambda status, body: (status, json.dumps(change(json.loads(body), world.issuer)))
        world.step()
        assert (world.verdict(), world.faults[:1]) == (UNAVAILABLE, ["snapshot"])
    finally:
        world.issuer.stop()


@pytest.fixture
def followed(monkeypatch):
    """An issuer, and a follower with its thread, which asks often."""
    monkeypatch.setattr(module, "_POLL_SECONDS", (0.02, 0.05))
    issuer = Issuer()
    follower = StatusFollower(issuer.origin, timeout=20)
    yield issuer, follower
    follower.close()
    issuer.stop()


def test_the_thread_follows_by_itself(followed):
    issuer, follower = followed
    threads = threading.active_count()
    certificate = issuer.certificate()
    assert follower._thread is None
    # The first call waits for keys and lists.
    assert verify_certificate(certificate, status=follower).status_as_of is not None
    assert follower._thread.daemon
    issuer.change(2)
    number = issuer.n
    with follower._changed:
        assert follower._changed.wait_for(lambda: follower._lists.verified.n == number, 20)
    with pytest.raises(CountersignError) as caught:
        verify_certificate(certificate, status=follower)
    assert caught.value.code == SUSPENDED
    # A call waits for a list that is new.
    issuer.change(0, number=2)
    assert verify_certificate(issuer.certificate(number=2), status=follower).status_list[0].endswith("/2")
    thread = follower._thread
    follower.close()
    thread.join(20)
    assert not thread.is_alive() and threading.active_count() <= threads + 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_follows_by_itself(followed):
    issuer, follower = followed
    certificate = issuer.certificate()
    verify_certificate(certificate, status=follower)
    issuer.change(2)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            verify_certificate(certificate, status=follower)
        except CountersignError as error:
            code = 0 if error.code == SUSPENDED else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
