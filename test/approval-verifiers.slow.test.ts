import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { AccountExport } from '@countersign/protocol'
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { keySetOf } from './support/agent-certificates.ts'
import { jsonOf } from './support/answer.ts'
import {
  type ApprovalWorld,
  approve,
  asked,
  givePasskey,
  newApprovalWorld,
  order,
  progressOf,
} from './support/approvals.ts'
import { Authenticator } from './support/authenticator.ts'
import { DocPage } from './support/doc-page.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { type Python, pythonFor } from './support/python.ts'
import { run, startTestService, type TestService } from './support/service.ts'

// Programs that know nothing of this project verify the token of an approval, and what a passkey has signed for it.

const PAGE = new DocPage('docs/approvals.md', import.meta.filename)
const CRYPTOGRAPHY = pythonFor('cryptography')
const FIDO2 = pythonFor('fido2')
const PYJWT = pythonFor('jwt')
const HOURS_MS = 80 * 3_600_000
type Exported = AccountExport['approvals'][number]

const cleanup = fileCleanup()
let service: TestService
let keySet: JSONWebKeySet
/** Approved by a passkey with ES256 and by one with EdDSA. */
let approved: readonly { readonly token: string; readonly exported: Exported }[]

before(async () => {
  service = await startTestService(cleanup)
  keySet = (await keySetOf(service)) as unknown as JSONWebKeySet
  const world = await newApprovalWorld(service)
  const { owner } = world
  const newKey = () => generateKeyPairSync('ed25519').privateKey
  const ed25519 = new Authenticator(service.settings.baseUrl.origin, newKey)
  await givePasskey(service, owner.ownerId, Date.now() - HOURS_MS, ed25519)
  const ids = [
    await approvedBy(world, 1),
    await approvedBy({ ...world, authenticator: ed25519 }, 2),
  ]
  const { approvals } = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  approved = await Promise.all(
    ids.map(async (id) => ({
      token: (await progressOf(service, id)).token ?? '',
      exported: approvals.find((each) => each.id === id) as Exported,
    })),
  )
})
after(() => PAGE.assertAllTaken())

async function approvedBy(world: ApprovalWorld, number: number): Promise<string> {
  const { id } = await asked(world, { ...order(number), message: 'Für Müller – 129,00 €' })
  const answer = await approve(world, id)
  assert.equal(answer.status, 200, answer.text)
  return id
}

const claimsIn = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/** With the first bit of the last part changed, which is the signature. */
function forged(text: string): string {
  const [tail = '', ...before] = text.split('.').toReversed()
  const bytes = Buffer.from(tail, 'base64url')
  // In the middle, so that the encoding of a DER signature stays as it is.
  bytes.writeUInt8(bytes.readUInt8(12) ^ 1, 12)
  return [...before.toReversed(), bytes.toString('base64url')].join('.')
}

test('jose verifies the token with the keys that the service publishes', async () => {
  const keys = createLocalJWKSet(keySet)
  for (const { token, exported } of approved) {
    const { payload, protectedHeader } = await compactVerify(token, keys)
    assert.deepEqual(Object.keys(protectedHeader).toSorted(), ['alg', 'kid', 'typ'])
    assert.equal(protectedHeader.typ, 'svc-approval+jwt')
    const claims = JSON.parse(new TextDecoder().decode(payload))
    assert.deepEqual([claims.jti, claims.url], [exported.id, exported.url])
    await assert.rejects(compactVerify(forged(token), keys), /signature verification failed/)
  }
})

const BY_PYJWT = `
import json, sys, jwt
given = json.load(sys.stdin)
def outcome(token):
    header = jwt.get_unverified_header(token)
    jwk = next(each for each in given["keys"] if each["kid"] == header["kid"])
    expected = {"audience": "https://shop.example", "issuer": given["issuer"]}
    try:
        return [header["typ"], jwt.decode(token, jwt.PyJWK(jwk, header["alg"]).key, algorithms=["EdDSA", "ES256"], **expected)]
    except jwt.InvalidSignatureError:
        return "refused"
print(json.dumps([outcome(each) for each in given["tokens"]]))
`

test('PyJWT verifies it too, with issuer and audience', PYJWT.options, async () => {
  const tokens = approved.map(({ token }) => token)
  const given = { ...keySet, issuer: service.url, tokens: [...tokens, ...tokens.map(forged)] }
  const { stdout } = await ran(PYJWT, BY_PYJWT, given)
  const valid = tokens.map((token) => ['svc-approval+jwt', claimsIn(token)])
  assert.deepEqual(JSON.parse(stdout), [...valid, 'refused', 'refused'])
})

async function ran({ path }: Python, program: string, given: object) {
  const result = await run(path, ['-c', program], {}, JSON.stringify(given))
  assert.equal(result.code, 0, result.stderr)
  return result
}

const changed = (exported: Exported, assertion: object) => ({
  ...exported,
  assertion: { ...exported.assertion, ...assertion },
})

test('the program of the page verifies what a passkey signed', CRYPTOGRAPHY.options, async () => {
  const program = PAGE.take('Verify an approval', 'python')
  const [{ exported, token }] = approved as [(typeof approved)[number]]
  const { url, statement, assertion } = exported
  const { stdout } = await ran(CRYPTOGRAPHY, program, exported)
  assert.equal(
    stdout,
    `POST ${url} was approved by this passkey\nits token says ${claimsIn(token).evidence}\n`,
  )
  const { signature = '' } = assertion ?? {}
  const foreign = await exportedOfAnother()
  for (const [given, said] of [
    [{ ...exported, statement: statement.replace('/1/', '/2/') }, /another statement/],
    [changed(exported, { signature: forged(signature) }), /InvalidSignature/],
    [changed(exported, { publicKey: foreign.assertion?.publicKey }), /InvalidSignature/],
    // The operator can sign a token for another request, and has no assertion for it.
    [{ ...exported, statement: foreign.statement }, /another statement/],
  ] as const) {
    const { code, stderr } = await run(
      CRYPTOGRAPHY.path,
      ['-c', program],
      {},
      JSON.stringify(given),
    )
    assert.equal(code, 1)
    assert.match(stderr, said)
  }
})

async function exportedOfAnother(): Promise<Exported> {
  const world = await newApprovalWorld(service)
  await approvedBy(world, 1)
  const { approvals } = jsonOf<AccountExport>(await world.owner.get('/api/account/export'))
  return approvals[0] as Exported
}

const BY_FIDO2 = `
import hashlib, json, sys
from fido2.client import ClientData
from fido2.cose import CoseKey
from fido2.ctap2 import AttestedCredentialData, AuthenticatorData
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import PublicKeyCredentialRpEntity
from fido2 import cbor
from cryptography.exceptions import InvalidSignature
given = json.load(sys.stdin)
def outcome(approval):
    part = {name: websafe_decode(text) for name, text in approval["assertion"].items()}
    origin = json.loads(approval["statement"])["service"]
    server = Fido2Server(PublicKeyCredentialRpEntity(given["rpId"], "the service"), verify_origin=lambda each: each == origin)
    challenge = hashlib.sha256(f"svc-approval-v1\\n{approval['statement']}".encode()).digest()
    state = {"challenge": websafe_encode(challenge), "user_verification": "required"}
    key = CoseKey.parse(cbor.decode(part["publicKey"]))
    known = AttestedCredentialData.create(bytes(16), b"passkey", key)
    signed = (ClientData(part["clientData"]), AuthenticatorData(part["authenticatorData"]), part["signature"])
    try:
        server.authenticate_complete(state, [known], b"passkey", *signed)
        return type(key).__name__
    except (InvalidSignature, ValueError):
        return "refused"
print(json.dumps([outcome(each) for each in given["approvals"]]))
`

test('python-fido2 verifies it as a relying party does', FIDO2.options, async () => {
  const all = approved.map(({ exported }) => exported)
  const [first, second] = all as [Exported, Exported]
  const refused = [
    ...all.map((each) => changed(each, { signature: forged(each.assertion?.signature ?? '') })),
    { ...first, statement: second.statement },
    { ...second, statement: second.statement.replace('"seconds":600', '"seconds":3600') },
    changed(first, { publicKey: second.assertion?.publicKey }),
  ]
  const { hostname: rpId } = service.settings.baseUrl
  const { stdout } = await ran(FIDO2, BY_FIDO2, { rpId, approvals: [...all, ...refused] })
  assert.deepEqual(JSON.parse(stdout), ['ES256', 'EdDSA', ...refused.map(() => 'refused')])
})
