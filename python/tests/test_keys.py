"""Key files, environment, PEM and JWK."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from countersign import AgentKey, CountersignError


def code_of(run):
    with pytest.raises(CountersignError) as caught:
        run()
    return caught.value.code


def test_a_key_file_is_for_its_owner_only_and_never_replaced(tmp_path):
    file = tmp_path / "keys" / "agent.pem"
    assert code_of(lambda: AgentKey.from_file(file)) == "NO_KEY"
    key = AgentKey.from_file(file, create=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert AgentKey.from_file(file, create=True).public_key == key.public_key
    assert code_of(lambda: AgentKey.generate().write_file(file)) == "KEY_EXISTS"
    assert AgentKey.from_file(file).public_key == key.public_key
    assert os.listdir(file.parent) == ["agent.pem"]
    other = AgentKey.generate()
    other.write_file(file, replace=True)
    assert AgentKey.from_file(file).public_key == other.public_key


def test_of_several_that_create_a_key_one_wins(tmp_path):
    file = tmp_path / "agent.pem"
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: AgentKey.from_file(file, create=True).public_key, range(16)))
    assert len(set(keys)) == 1


def test_an_exposed_key_file_is_reported(tmp_path):
    file = tmp_path / "agent.pem"
    AgentKey.generate().write_file(file)
    file.chmod(0o640)
    with pytest.warns(UserWarning, match="chmod 600"):
        AgentKey.from_file(file)


def test_openssl_reads_what_is_written(tmp_path):
    key = AgentKey.generate()
    key.write_file(tmp_path / "agent.pem")
    try:
        command = ["openssl", "pkey", "-in", tmp_path / "agent.pem", "-pubout", "-outform", "DER"]
        der = subprocess.run(command, check=True, capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert der[-32:] == key.public_bytes


def test_environment_pem_and_jwk(monkeypatch):
    key = AgentKey.generate()
    assert AgentKey.from_pem(key.to_pem()).public_key == key.public_key
    assert AgentKey.from_jwk(key.to_jwk()).public_key == key.public_key
    monkeypatch.setenv("KEY", key.to_pem().replace("\n", "\\n"))
    assert AgentKey.from_environment("KEY").public_key == key.public_key
    monkeypatch.delenv("KEY")
    assert code_of(lambda: AgentKey.from_environment("KEY")) == "NO_KEY"
    assert key.to_jwk()["d"] not in repr(key)


@pytest.mark.parametrize("text", ["", "x", "{", "{}", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
def test_unusable_texts(text):
    assert code_of(lambda: AgentKey.from_text(text)) == "UNUSABLE_KEY"


def test_unusable_jwks():
    jwk, other = AgentKey.generate().to_jwk(), AgentKey.generate().to_jwk()
    for change in ({"x": other["x"]}, {"d": None}, {"d": jwk["d"] + "="}, {"crv": "X25519"}, {"kty": "EC"}):
        assert code_of(lambda: AgentKey.from_jwk({**jwk, **change})) == "UNUSABLE_KEY"
