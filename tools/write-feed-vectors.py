"""Writes vectors/feed.json with Python's hashlib and OpenSSL's Ed25519, line by line from docs/status.md:

    python3 tools/write-feed-vectors.py && npx biome format --write vectors/feed.json
"""

import base64
import hashlib
import json
import pathlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER, OTHER = "https://id.example", "https://other.example"
EPOCH, OTHER_EPOCH = "AAECAwQFBgcICQoLDA0ODw", "EBESExQVFhcYGRobHB0eHw"
NOW = 1_800_000_000_000
SECOND = 1000


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def start_of(issuer, epoch):
    return hashlib.sha256(b"countersign-feed-v1\n" + issuer.encode() + b"\n" + epoch.encode() + b"\n").digest()


def step(chain, n, list_, idx, status):
    return hashlib.sha256(chain + f"{n} {list_} {idx} {status}\n".encode()).digest()


# Chains.


def chain_case(name, issuer, epoch, changes):
    value, lines = start_of(issuer, epoch), []
    for n, (list_, idx, status) in enumerate(changes, 1):
        value = step(value, n, list_, idx, status)
        lines.append({"n": n, "list": list_, "idx": idx, "status": status, "chain": encode(value)})
    return {"name": name, "issuer": issuer, "epoch": epoch, "start": encode(start_of(issuer, epoch)), "lines": lines}


CHAINS = [
    chain_case("no change yet", ISSUER, EPOCH, []),
    chain_case(
        "a suspension, its end, and two invalid entries",
        ISSUER,
        EPOCH,
        [(1, 7, 2), (1, 7, 0), (1480623942, 131071, 1), (0, 0, 1)],
    ),
    chain_case("the same changes of another issuer", OTHER, EPOCH, [(1, 7, 2), (1, 7, 0)]),
    chain_case("the same changes in another epoch", ISSUER, OTHER_EPOCH, [(1, 7, 2), (1, 7, 0)]),
    chain_case("an issuer with a port", "http://127.0.0.1:8080", EPOCH, [(1, 7, 2)]),
    chain_case("past nine changes: numbers have no leading zeros", ISSUER, EPOCH, [(1, i, 2) for i in range(11)]),
]

# The history of one epoch, by number. Entry 1:7 is suspended, reactivated, suspended and invalid; 2:5 goes back and forth.
HISTORY = {
    41: (1, 7, 2),
    42: (1, 8, 1),
    43: (1, 7, 0),
    44: (2, 5, 2),
    45: (2, 5, 0),
    46: (2, 5, 2),
    47: (2, 5, 0),
    48: (1, 8, 2),
}
VALUES = {40: hashlib.sha256(b"the first forty changes").digest()}
for each, change in HISTORY.items():
    VALUES[each] = step(VALUES[each - 1], each, *change)
OTHER_VALUES = {n: hashlib.sha256(b"another epoch %d" % n).digest() for n in range(101)}


def line(n, list_=None, idx=None, status=None):
    """The line of a number, or with what is passed another one under that number."""
    own = HISTORY.get(n, (None, None, None))
    values = [known if given is None else given for given, known in zip((list_, idx, status), own)]
    return {"line": dict(zip(("n", "list", "idx", "status"), (n, *values)))}


def position(n, seconds, epoch=EPOCH, chain=None):
    """A position, ``asOf`` in seconds after ``NOW``."""
    value = (VALUES if epoch == EPOCH else OTHER_VALUES)[n] if chain is None else chain
    return {"epoch": epoch, "n": n, "chain": encode(value), "asOf": NOW + round(seconds * SECOND)}


def head(n, seconds, **named):
    return {"head": position(n, seconds, **named)}


def ok(each):
    return {**each, "result": "ok"}


def fault(each, why):
    return {**each, "result": "fault", "why": why}


def older(each):
    return {**each, "result": "older"}


def confirms(each, *numbers):
    return {**ok(each), "confirms": list(numbers)}


def follow(name, *steps, start=None):
    return {"name": name, "position": start or position(40, 0), "steps": list(steps)}


def unlike(n):
    return bytes([VALUES[n][0] ^ 1]) + VALUES[n][1:]


FOLLOW = [
    follow("a head without changes", confirms(head(40, 5))),
    follow("lines, then the head that confirms them", ok(line(41)), ok(line(42)), confirms(head(42, 1), 41, 42)),
    follow(
        "each line is confirmed once",
        ok(line(41)),
        confirms(head(41, 1), 41),
        ok(line(42)),
        ok(line(43)),
        confirms(head(43, 2), 42, 43),
        confirms(head(43, 7)),
    ),
    follow("the first line of an epoch", ok({"line": {"n": 1, "list": 1, "idx": 7, "status": 2}}), confirms(
        {"head": {"epoch": EPOCH, "n": 1, "chain": CHAINS[1]["lines"][0]["chain"], "asOf": NOW + SECOND}}, 1
    ), start={"epoch": EPOCH, "n": 0, "chain": CHAINS[1]["start"], "asOf": NOW}),
    follow("a line is missing", ok(line(41)), fault(line(43), "number")),
    follow("the first line is missing", fault(line(42), "number")),
    follow("two lines in the other order", fault(line(42), "number")),
    follow("a line twice", ok(line(41)), fault(line(41), "number")),
    follow("a line that is known from the position", fault(line(40, 1, 1, 2), "number")),
    follow("two lines that changed their numbers", ok(line(41, 1, 8, 1)), ok(line(42, 1, 7, 2)), fault(head(42, 1), "position")),
    follow("another entry in a line", ok(line(41, 1, 9, 2)), fault(head(41, 1), "position")),
    follow("another list in a line", ok(line(41, 2, 7, 2)), fault(head(41, 1), "position")),
    follow("another status in a line", ok(line(41, 1, 7, 0)), fault(head(41, 1), "position")),
    follow("a line that the service did not send", ok(line(41, 1, 9, 2)), fault(head(40, 1), "position")),
    follow("the last line is withheld, its head is not", fault(head(41, 1), "position")),
    follow("all lines are withheld", fault(head(43, 1), "position")),
    follow("a head without a line that came before it", ok(line(41)), ok(line(42)), fault(head(41, 1), "position")),
    follow("a head of the same number with another chain", fault(head(40, 1, chain=unlike(40)), "position")),
    follow("a head of the right number with another chain, after lines", ok(line(41)), fault(head(41, 1, chain=unlike(41)), "position")),
    follow("a head of another epoch", fault(head(40, 1, epoch=OTHER_EPOCH), "epoch")),
    follow("a head of another epoch with a number that would fit", ok(line(41)), fault(head(41, 1, epoch=OTHER_EPOCH), "epoch")),
    follow("the known head again", older(head(40, 0))),
    follow("an older head", older(head(40, -1)), ok(line(41)), confirms(head(41, 1), 41)),
    follow("an older head of a lower number", ok(line(41)), confirms(head(41, 1), 41), older(head(40, 0.5)), ok(line(42))),
    follow("an older head of another epoch", older(head(100, -1, epoch=OTHER_EPOCH)), confirms(head(40, 5))),
    follow("a newer head of a lower number", ok(line(41)), confirms(head(41, 1), 41), fault(head(40, 2), "position")),
    follow("an older head confirms no lines", ok(line(41)), older(head(41, 0)), confirms(head(41, 1), 41)),
]

# Followers: lists, overlay, snapshots. Times are those of ``follower.now()``.


def snapshot(n, seconds, entries, **named):
    return {"snapshot": {**position(n, seconds, **named), "lists": entries}}


def at(seconds, each, expect=None, **named):
    """A step at a time, with the entries and the verified position that are expected after it."""
    out = {"at": NOW + round(seconds * SECOND), "result": "ok", **each, **named}
    return out if expect is None else {**out, "expect": expect}


def refused(each):
    return {**each, "result": "refused"}


def fetched(n, list_, entries, epoch=EPOCH):
    return {"list": {"list": list_, "epoch": epoch, "n": n, "entries": entries}}


START = at(0, snapshot(40, 0, {"1": {}}), {"1:7": 0, "1:8": 0, "9:1": None})
SUSPENDED = at(0, snapshot(42, 0, {"1": {"7": 2, "8": 1}}), {"1:7": 2, "1:8": 1})


def verified(n, seconds, epoch=EPOCH):
    return {"epoch": epoch, "n": n, "asOf": NOW + round(seconds * SECOND)}


FOLLOWERS = [
    {
        "name": "a restriction applies at once, without a head",
        "steps": [
            START,
            at(1, line(41), {"1:7": 2}, verified=verified(40, 0)),
            at(2, line(42), {"1:7": 2, "1:8": 1}, verified=verified(40, 0)),
            at(3, head(42, 3), {"1:7": 2, "1:8": 1}, verified=verified(42, 3)),
        ],
    },
    {
        "name": "the end of a suspension waits for the head",
        "steps": [
            SUSPENDED,
            at(1, line(43), {"1:7": 2}, verified=verified(42, 0)),
            at(2, head(43, 2), {"1:7": 0, "1:8": 1}, verified=verified(43, 2)),
        ],
    },
    {
        "name": "a suspension and its end before one head",
        "steps": [START, at(1, line(41)), at(1, line(42)), at(1, line(43), {"1:7": 2}), at(2, head(43, 2), {"1:7": 0, "1:8": 1})],
    },
    {
        "name": "heads are withheld: restrictions apply, nothing becomes newer",
        "steps": [
            START,
            at(100, line(41), {"1:7": 2}, verified=verified(40, 0)),
            at(200, older(head(40, 0)), {"1:7": 2}, verified=verified(40, 0)),
        ],
    },
    {
        "name": "a head without changes makes the lists newer",
        "steps": [START, at(5, head(40, 5), {"1:7": 0}, verified=verified(40, 5))],
    },
    {
        "name": "a forged restriction goes away with a position that is 5 seconds newer",
        "steps": [
            START,
            at(1, line(41, 1, 9, 2), {"1:9": 2}),
            at(2, fault(head(40, 2), "position"), {"1:9": 2}, verified=verified(40, 0)),
            at(2, snapshot(40, 2, {"1": {}}), {"1:9": 2}, verified=verified(40, 2)),
            at(5.9, head(40, 5.9), {"1:9": 2}),
            at(6, head(40, 6), {"1:9": 0}),
        ],
    },
    {
        "name": "a forged restriction goes away with a position of its number",
        "steps": [
            START,
            at(1, line(41, 1, 9, 1), {"1:7": 0, "1:9": 1}),
            at(2, fault(head(41, 2), "position"), {"1:9": 1}),
            at(2, snapshot(41, 2, {"1": {"7": 2}}), {"1:7": 2, "1:9": 0}),
        ],
    },
    {
        "name": "a true restriction stays while snapshots do not have it",
        "steps": [
            START,
            at(1, line(41), {"1:7": 2}),
            at(1, {"reconnect": True}, {"1:7": 2}),
            at(1, snapshot(40, 0.5, {"1": {}}), {"1:7": 2}),
            at(2, line(41), {"1:7": 2}),
            at(3, head(41, 3), {"1:7": 2}, verified=verified(41, 3)),
            at(99, head(41, 99), {"1:7": 2}),
        ],
    },
    {
        "name": "a restriction that became the end of a suspension in a line is in the snapshot",
        "steps": [
            START,
            at(1, line(41, 1, 7, 0), {"1:7": 0}),
            at(2, fault(head(41, 2), "position")),
            at(2, snapshot(41, 2, {"1": {"7": 2}}), {"1:7": 2}),
        ],
    },
    {
        "name": "a forged end of a suspension ends nothing",
        "steps": [
            SUSPENDED,
            at(1, line(43, 1, 7, 0), {"1:7": 2}),
            at(2, fault(head(42, 2), "position"), {"1:7": 2}),
            at(99, snapshot(42, 99, {"1": {"7": 2, "8": 1}}), {"1:7": 2}),
        ],
    },
    {
        "name": "a withheld line is in the snapshot",
        "steps": [
            START,
            at(1, line(41), {"1:7": 2}),
            at(2, fault(line(43), "number"), {"1:7": 2}),
            at(2, snapshot(43, 2, {"1": {"8": 1}}), {"1:7": 0, "1:8": 1}, verified=verified(43, 2)),
        ],
    },
    {
        "name": "a line that is no fault applies even if the next one is",
        "steps": [START, at(1, line(41), {"1:7": 2}), at(1, fault(line(41), "number"), {"1:7": 2})],
    },
    {
        "name": "a reconnect forgets lines, not the overlay",
        "steps": [
            START,
            at(1, line(41)),
            at(1, line(42), {"1:7": 2, "1:8": 1}),
            at(2, {"reconnect": True}, {"1:7": 2, "1:8": 1}),
            at(2, line(41)),
            at(2, line(42)),
            at(2, line(43), {"1:7": 2, "1:8": 1}),
            at(3, head(43, 3), {"1:7": 0, "1:8": 1}),
        ],
    },
    {
        "name": "a reconnect forgets the end of a suspension that no head confirmed",
        "steps": [
            SUSPENDED,
            at(1, line(43), {"1:7": 2}),
            at(2, {"reconnect": True}, {"1:7": 2}),
            at(3, head(42, 3), {"1:7": 2}, verified=verified(42, 3)),
        ],
    },
    {
        "name": "numbers of another epoch do not confirm a restriction, time does",
        "steps": [
            START,
            at(1, line(41), {"1:7": 2}),
            at(2, fault(head(100, 2, epoch=OTHER_EPOCH), "epoch")),
            at(2, snapshot(100, 2, {"1": {"8": 1}}, epoch=OTHER_EPOCH), {"1:7": 2, "1:8": 1}, verified=verified(100, 2, OTHER_EPOCH)),
            at(6, head(100, 6, epoch=OTHER_EPOCH), {"1:7": 0, "1:8": 1}),
        ],
    },
    {
        "name": "a snapshot of another epoch, also with a lower number",
        "steps": [
            SUSPENDED,
            at(1, snapshot(3, 1, {"1": {"7": 1}}, epoch=OTHER_EPOCH), {"1:7": 1, "1:8": 0}, verified=verified(3, 1, OTHER_EPOCH)),
        ],
    },
    {
        "name": "an older snapshot is refused",
        "steps": [
            at(10, snapshot(42, 10, {"1": {"7": 2, "8": 1}}), {"1:7": 2}),
            at(11, refused(snapshot(41, 11, {"1": {"7": 2}})), {"1:7": 2, "1:8": 1}, verified=verified(42, 10)),
            at(12, refused(snapshot(43, 9, {"1": {"8": 1}})), {"1:7": 2}, verified=verified(42, 10)),
            at(13, refused(snapshot(100, 9, {"1": {}}, epoch=OTHER_EPOCH)), {"1:7": 2}, verified=verified(42, 10)),
        ],
    },
    {
        "name": "older heads change nothing",
        "steps": [
            at(10, snapshot(42, 10, {"1": {"7": 2, "8": 1}})),
            at(11, older(head(41, 9)), {"1:7": 2}, verified=verified(42, 10)),
            at(11, older(head(100, 9, epoch=OTHER_EPOCH)), {"1:7": 2}, verified=verified(42, 10)),
            at(12, head(42, 12), {"1:7": 2}, verified=verified(42, 12)),
        ],
    },
    {
        "name": "an invalid entry stays invalid",
        "steps": [
            at(0, snapshot(47, 0, {"1": {"8": 1}}), {"1:8": 1}),
            at(1, line(48), {"1:8": 1}),
            at(2, head(48, 2), {"1:8": 1}),
        ],
    },
    {
        "name": "an entry that a line calls invalid stays so until the head",
        "steps": [START, at(1, line(41, 1, 8, 1), {"1:8": 1}), at(1, line(42, 1, 8, 2), {"1:8": 1}), at(1, line(43, 1, 8, 0), {"1:8": 1})],
    },
    {
        "name": "a list that was fetched alone gets the changes after its position",
        "steps": [
            at(0, snapshot(43, 0, {"1": {"8": 1}}), {"2:5": None}),
            at(1, line(44)),
            at(2, head(44, 2)),
            at(3, fetched(43, 2, {}), {"2:5": 2}),
            at(4, line(45), {"2:5": 2}),
            at(5, head(45, 5), {"2:5": 0}),
        ],
    },
    {
        "name": "a list that was fetched alone gets the end of a suspension after its position",
        "steps": [
            at(0, snapshot(43, 0, {"1": {"8": 1}})),
            at(1, line(44)),
            at(1, line(45)),
            at(2, head(45, 2)),
            at(3, fetched(44, 2, {"5": 2}), {"2:5": 0}),
        ],
    },
    {
        "name": "lines up to the position of a list are skipped for it",
        "steps": [
            at(0, snapshot(43, 0, {"1": {"8": 1}})),
            at(1, fetched(46, 2, {"5": 2}), {"2:5": 2}),
            at(2, line(44)),
            at(2, line(45)),
            at(3, head(45, 3), {"2:5": 2}),
            at(4, line(46), {"2:5": 2}),
            at(4, line(47), {"2:5": 2}),
            at(5, head(47, 5), {"2:5": 0}),
        ],
    },
    {
        "name": "a restriction up to the position of a list is skipped for it too",
        "steps": [
            at(0, snapshot(43, 0, {"1": {"8": 1}})),
            at(1, fetched(45, 2, {}), {"2:5": 0}),
            at(2, line(44), {"2:5": 0}),
            at(2, line(45), {"2:5": 0}),
            at(2, line(46), {"2:5": 2}),
        ],
    },
    {
        "name": "a list of another epoch is refused",
        "steps": [
            at(0, snapshot(43, 0, {"1": {"8": 1}}), {"2:5": None}),
            at(1, refused(fetched(100, 2, {}, epoch=OTHER_EPOCH)), {"2:5": None}),
        ],
    },
    {
        "name": "a list that is older than the known one is refused",
        "steps": [
            SUSPENDED,
            at(1, refused(fetched(40, 1, {})), {"1:7": 2, "1:8": 1}),
        ],
    },
]

LINES = {
    "valid": [
        {"name": "a suspension", "line": {"n": 41, "list": 1, "idx": 7, "status": 2}},
        {"name": "the first list, entry and number", "line": {"n": 1, "list": 0, "idx": 0, "status": 0}},
        {"name": "the last entry", "line": {"n": 41, "list": 1, "idx": 131071, "status": 1}},
        {"name": "a member that a later release adds", "line": {"n": 41, "list": 1, "idx": 7, "status": 2, "later": True}},
    ],
    "invalid": [
        {"name": name, "why": why, "line": {k: v for k, v in {"n": 41, "list": 1, "idx": 7, "status": 2, **changed}.items() if v is not None}}
        for name, why, changed in [
            ("without a number", "form", {"n": None}),
            ("a number in a text", "form", {"n": "41"}),
            ("the number 0", "form", {"n": 0}),
            ("a number below 0", "form", {"n": -41}),
            ("a number with a fraction", "form", {"n": 41.5}),
            ("without a list", "form", {"list": None}),
            ("a list in a text", "form", {"list": "1"}),
            ("a list below 0", "form", {"list": -1}),
            ("without an entry", "form", {"idx": None}),
            ("an entry below 0", "form", {"idx": -1}),
            ("an entry with a fraction", "form", {"idx": 7.5}),
            ("an entry beyond the list", "form", {"idx": 131072}),
            ("without a status", "form", {"status": None}),
            ("a status that is not assigned", "form", {"status": 3}),
            ("a status in a text", "form", {"status": "2"}),
            ("a status that is a truth value", "form", {"status": True}),
            ("a line of the former form", "form", {"n": None, "seq": 41, "at": NOW}),
        ]
    ],
}


def key_of(seed):
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    x = encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    jwk = {"crv": "Ed25519", "kty": "OKP", "x": x}
    kid = encode(hashlib.sha256(json.dumps(jwk, separators=(",", ":")).encode()).digest())
    return key, {**jwk, "kid": kid, "use": "sig"}


OWN, STRANGER = key_of(1), key_of(3)


def token(claims, typ="svc-feed+jwt", signer=OWN):
    key, jwk = signer
    header = {"alg": "EdDSA", "kid": jwk["kid"], "typ": typ}
    text = ".".join(encode(json.dumps(each, separators=(",", ":")).encode()) for each in (header, claims))
    return f"{text}.{encode(key.sign(text.encode()))}"


CLAIMS = {
    "iss": ISSUER,
    "iat": NOW // 1000,
    "exp": NOW // 1000 + 60,
    **position(41, 0.25),
    "mark": encode(bytes(range(52))),
}


def claims(**changed):
    return {name: value for name, value in {**CLAIMS, **changed}.items() if value is not None}


def aged(seconds):
    return {"iat": CLAIMS["iat"] + seconds, "exp": CLAIMS["exp"] + seconds}


def signed(token_text):
    head_, payload, signature = token_text.split(".")
    altered = encode(json.dumps(claims(n=42), separators=(",", ":")).encode())
    return f"{head_}.{altered}.{signature}"


HEADS = {
    "valid": [
        {"name": "of now", "token": token(CLAIMS), "position": position(41, 0.25)},
        {"name": "of an epoch without changes", "token": token(claims(n=0)), "position": {**position(41, 0.25), "n": 0}},
        {"name": "119 seconds old", "token": token(claims(**aged(-119))), "position": position(41, 0.25)},
        {"name": "a claim that a later release adds", "token": token(claims(later=True)), "position": position(41, 0.25)},
    ],
    "invalid": [
        {"name": name, "why": why, "token": text}
        for name, why, text in [
            ("expired", "times", token(claims(**aged(-121)))),
            ("of the future", "times", token(claims(**aged(61)))),
            ("without an end", "times", token(claims(exp=None))),
            ("of another issuer", "issuer", token(claims(iss=OTHER))),
            ("by a stranger", "key", token(CLAIMS, signer=STRANGER)),
            ("by a stranger under the kid of a listed key", "signature", token(CLAIMS, signer=(STRANGER[0], OWN[1]))),
            ("altered", "signature", signed(token(CLAIMS))),
            ("a staple", "type", token(CLAIMS, "svc-status+jwt")),
            ("the manifest of a snapshot", "type", token(CLAIMS, "svc-snapshot+jwt")),
            ("without an epoch", "claims", token(claims(epoch=None))),
            ("without a number", "claims", token(claims(n=None))),
            ("a number below 0", "claims", token(claims(n=-1))),
            ("a number in a text", "claims", token(claims(n="41"))),
            ("without a chain", "claims", token(claims(chain=None))),
            ("a chain of 31 bytes", "claims", token(claims(chain=encode(bytes(31))))),
            ("a chain of 33 bytes", "claims", token(claims(chain=encode(bytes(33))))),
            ("a chain in base64", "claims", token(claims(chain="+/" + "A" * 41))),
            ("without asOf", "claims", token(claims(asOf=None))),
            ("the head of the former form", "claims", token(claims(n=None, chain=None, mark=None, seq=41, digest="A" * 43))),
        ]
    ],
}

VECTORS = {
    "issuer": ISSUER,
    "now": NOW,
    "keySet": {"keys": [OWN[1]]},
    "chains": CHAINS,
    "lines": LINES,
    "heads": HEADS,
    "follow": FOLLOW,
    "followers": FOLLOWERS,
}

if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parents[1] / "vectors" / "feed.json"
    path.write_text(json.dumps(VECTORS, indent=2) + "\n", "ascii")
