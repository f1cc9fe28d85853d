import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AgentEntry,
  encodeBase64,
  hashLeaf,
  isAgentEntry,
  keyThumbprint,
  type OwnerChannel,
  rotationSignatures,
} from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { post } from '../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { rotateTo } from '../../../../test/support/key-operations.ts'
import { logKey, readLog, untilLogged, verifyEd25519 } from '../../../../test/support/log-client.ts'
import {
  type Cleanup,
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../test/support/signed-in.ts'
import {
  AGENTS,
  recoverWith,
  signInBy,
  startRecovery,
  TestClock,
  veto,
} from '../agents/keys/with-keys.ts'

const clock = new TestClock()
let service: TestService

/** One for each test: the runner may start this file long before its tests, and the clock stands still. */
async function begin(t: Cleanup): Promise<void> {
  service = await startTestService(t, {}, clock.now)
}

interface OwnAgent {
  readonly owner: SignedInOwner
  readonly did: string
  readonly key: TestKey
}

async function withAgent(): Promise<OwnAgent> {
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signInBy(service, ownerId, clock.now)
  const key = newKey()
  return { owner, did: await claimAgent(service, ownerId, key), key }
}

/** The entries about an agent, once there are so many, without what was checked here: `v`, `did`, `prev`, `commitment` and `at`. */
async function historyOf(did: string, count: number) {
  const prefix = `${service.url}/log`
  await untilLogged(service, count)
  const key = await logKey(service.url)
  const own: { entry: AgentEntry; raw: Uint8Array }[] = []
  for (let size = count; own.length < count; ) {
    await untilLogged(service, size)
    const { entries, raw } = await readLog(prefix, key)
    size = entries.length + 1
    own.splice(0)
    for (const [i, entry] of entries.entries()) {
      if (isAgentEntry(entry) && entry.did === did) own.push({ entry, raw: raw[i] as Uint8Array })
    }
  }
  let prev: string | null = null
  return own.map(({ entry, raw }) => {
    const { v, did: about, prev: named, commitment, at, ...rest } = entry
    assert.deepEqual([v, about, named], [1, did, prev])
    assert.match(commitment, /^[A-Za-z0-9+/]{43}=$/)
    assert.ok(Number.isSafeInteger(at) && at <= clock.now())
    prev = encodeBase64(hashLeaf(raw))
    return rest
  })
}

const thumb = ({ publicKey }: TestKey) => keyThumbprint(Buffer.from(publicKey, 'base64'))
const of = (key: TestKey, keySequence = 1) => ({ key: thumb(key), keySequence })

function claimed(key: TestKey) {
  return { type: 'claimed', ...of(key), by: 'agent', grade: 'C' }
}

test('a channel that is verified and lost: its kind and its tier, and nothing else about it', async (t) => {
  await begin(t)
  const { owner, did, key } = await withAgent()
  const place = { kind: 'runtime', handleOrDomain: 'server-in-the-attic' }
  const added = await owner.post(`${AGENTS}/${did}/channels`, place)
  assert.equal(added.status, 201, added.text)
  const asked = await post(service, `/api/agents/${did}/runtime/challenge`, {})
  const challenge = jsonOf(asked).challenge as string
  const body = { challenge, signature: key.sign(challenge) }
  assert.equal((await post(service, `/api/agents/${did}/runtime`, body)).status, 200)
  const channel = { ...of(key), kind: 'runtime', tier: 1 }
  const proven = [
    claimed(key),
    { type: 'channel_verified', ...channel, by: 'service' },
    { type: 'grade', ...of(key), by: 'service', grade: 'B' },
  ]
  assert.deepEqual(await historyOf(did, 3), proven)
  const { id } = jsonOf<OwnerChannel>(added)
  const removed = await owner.send('DELETE', `${AGENTS}/${did}/channels/${id}`)
  assert.ok(removed.status < 300, removed.text)
  assert.deepEqual(await historyOf(did, 5), [
    ...proven,
    { type: 'channel_lost', ...channel, by: 'owner' },
    { type: 'grade', ...of(key), by: 'service', grade: 'C' },
  ])
  const { raw } = await readLog(`${service.url}/log`, await logKey(service.url))
  assert.ok(!Buffer.concat(raw).toString().includes('attic'))
})

test('a recovery that is vetoed, and one that takes effect', async (t) => {
  await begin(t)
  const { owner, did, key } = await withAgent()
  await startRecovery(owner, did, 'key_lost')
  const vetoed = await veto(service, did, { old: key, sequence: 1 }, clock.signed)
  assert.equal(vetoed.status, 200, vetoed.text)
  const step = (type: string, by: string) => ({ type, ...of(key), by })
  assert.deepEqual(await historyOf(did, 3), [
    claimed(key),
    step('key_recovery_started', 'owner'),
    step('key_recovery_vetoed', 'agent'),
  ])

  const other = await withAgent()
  const token = await startRecovery(other.owner, other.did, 'key_lost')
  const next = newKey()
  const redeemed = { token, next, sequence: 2 }
  assert.equal((await recoverWith(service, other.did, redeemed, clock.signed)).status, 200)
  clock.advance(73)
  assert.deepEqual(await historyOf(other.did, 3), [
    claimed(other.key),
    { type: 'key_recovery_started', ...of(other.key), by: 'owner' },
    { type: 'key_recovered', ...of(next, 2), by: 'owner' },
  ])
})

test('rotations with signatures that anyone can check, contested as a mistake and as hostile', async (t) => {
  await begin(t)
  const { naming } = service.settings
  const contested = async (reason: string) => {
    const { owner, did, key } = await withAgent()
    const next = newKey()
    const rotated = await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed)
    assert.equal(rotated.status, 200, rotated.text)
    const answer = await owner.post(`${AGENTS}/${did}/keys/contest`, { sequence: 1, reason })
    assert.equal(answer.status, 200, answer.text)
    const [first, rotation, ...rest] = await historyOf(did, reason === 'mistake' ? 3 : 4)
    assert.deepEqual(first, claimed(key))
    assert.ok(rotation?.type === 'key_rotated')
    const { issuedAt, oldSignature, newSignature, ...members } = rotation
    const keys = { prevKey: key.publicKey, newKey: next.publicKey }
    const signed = { service: service.url, ...keys }
    assert.deepEqual(members, { type: 'key_rotated', ...of(next, 2), by: 'agent', ...signed })
    const place = { v: 1, did, prev: null, commitment: '', at: 0 } as const
    const entry = { ...rotation, ...place }
    for (const each of rotationSignatures(naming, entry) ?? assert.fail())
      assert.ok(verifyEd25519(each.publicKey, each.message, each.signature))
    // The control: another time was not signed.
    const forged = rotationSignatures(naming, { ...entry, issuedAt: issuedAt + 1 })
    for (const each of forged ?? assert.fail())
      assert.ok(!verifyEd25519(each.publicKey, each.message, each.signature))
    assert.notEqual(oldSignature, newSignature)
    return { key, next, rest }
  }

  const mistake = await contested('mistake')
  assert.deepEqual(mistake.rest, [{ type: 'key_contested', ...of(mistake.key, 3), by: 'owner' }])

  const hostile = await contested('key_compromised')
  const status = { status: 'suspended', reason: 'key_compromised' }
  assert.deepEqual(hostile.rest, [
    { type: 'key_contested', ...of(hostile.next, 2), by: 'owner' },
    { type: 'status', ...of(hostile.next, 2), by: 'service', ...status },
  ])
})
