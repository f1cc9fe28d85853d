import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  certificateOf,
  certificatePath,
  decodeJws,
} from '../../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { rotateTo } from '../../../../../test/support/key-operations.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { HOUR_MS, signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import {
  fedStatuses,
  listedStatus,
  type Reference,
  readFeed,
  referenceIn,
} from '../../../../../test/support/status-feed.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'
import { unverifyOwner, verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { reactivateOwner, suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'
import { AGENTS, recoverWith, startRecovery } from '../../agents/keys/with-keys.ts'

suite('the status of a certificate', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService(
      { after: (end) => ends.push(end) },
      { RECOVERY_DELAY: '0', KEY_REUSE: 'any' },
      clock.now,
    )
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  const certify = async (did: string) => referenceIn(await certificateOf(service, did))
  const newOwner = async () =>
    signInBy(service, await service.operator.addVerifiedOwner(), clock.now)

  /** An agent with a certificate. */
  const certified = async () => {
    const owner = await newOwner()
    const key = newKey()
    const did = await claimAgent(service, owner.ownerId, key)
    return { owner, key, did, entry: await certify(did) }
  }

  /** Asserts what the list says, and everything that the feed has said about an entry. */
  const assertStatuses = async (entry: Reference, expected: number[]) => {
    await until(async () => (await fedStatuses(service, entry)).length >= expected.length)
    assert.deepEqual(await fedStatuses(service, entry), expected)
    assert.equal(await listedStatus(service, entry), expected.at(-1) ?? 0)
  }

  const verifyAs = (ownerId: number, provider: string, assurance: 'low' | 'substantial' | 'high') =>
    verifyOwner(
      { db: service.operator.db, now: clock.now, pepper: loadPepper(service.settings) },
      ownerId,
      { provider, issuer: 'host', subject: String(ownerId), assurance, expiresAt: null },
    )

  const rotate = async (did: string, old: TestKey, next: TestKey, sequence = 2) => {
    const answer = await rotateTo(service, did, { old, next, sequence }, clock.signed)
    assert.equal(answer.status, 200, answer.text)
  }

  test('a claim writes no entry, and a change of an agent without a certificate none either', async () => {
    const count = () =>
      withRaw(service.settings, async (raw) => {
        const entries = await raw.all('select * from status_entries')
        const events = await raw.all("select * from events where type like 'status.%'")
        return [entries.length, events.length]
      })
    const before = await count()
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    await setStatus(service, did, 'suspended')
    await setStatus(service, did, 'revoked')
    assert.deepEqual(await count(), before)
  })

  test('is suspended with the agent, valid again with it, and invalid once it is revoked', async () => {
    const { did, entry } = await certified()
    await assertStatuses(entry, [])
    await setStatus(service, did, 'suspended')
    await assertStatuses(entry, [2])
    assertRefused(await ask(service, certificatePath(did)), 409, 'AGENT_NOT_ACTIVE', /suspended/)
    await setStatus(service, did, 'active')
    await assertStatuses(entry, [2, 0])
    assert.deepEqual(await certify(did), entry, 'a suspension keeps the entry')
    await setStatus(service, did, 'revoked')
    await assertStatuses(entry, [2, 0, 1])
  })

  test('is invalid once the key is replaced; the certificate of the new key has another entry', async () => {
    const { did, key, entry } = await certified()
    await rotate(did, key, newKey())
    await assertStatuses(entry, [1])
    const next = await certify(did)
    assert.notDeepEqual(next, entry)
    await assertStatuses(next, [])
    await setStatus(service, did, 'suspended')
    await setStatus(service, did, 'active')
    await assertStatuses(entry, [1])
    await assertStatuses(next, [2, 0])
  })

  test('is invalid after a contest, by mistake or by compromise, and after a recovery', async () => {
    const mistaken = await certified()
    await rotate(mistaken.did, mistaken.key, newKey())
    const thiefs = await certify(mistaken.did)
    const contest = (reason: string) => ({ sequence: 1, reason })
    const answer = await mistaken.owner.post(
      `${AGENTS}/${mistaken.did}/keys/contest`,
      contest('mistake'),
    )
    assert.equal(answer.status, 200, answer.text)
    await assertStatuses(thiefs, [1])
    await assertStatuses(mistaken.entry, [1])
    await assertStatuses(await certify(mistaken.did), [])

    const { owner, did, key } = await certified()
    await rotate(did, key, newKey())
    const stolen = await certify(did)
    await owner.post(`${AGENTS}/${did}/keys/contest`, contest('key_compromised'))
    await assertStatuses(stolen, [2, 1])
    const token = await startRecovery(owner, did, 'key_compromised')
    const recovery = { token, next: newKey(), sequence: 3 }
    assert.equal((await recoverWith(service, did, recovery, clock.signed)).status, 200)
    const recovered = await certify(did)
    await assertStatuses(recovered, [])
    await assertStatuses(stolen, [2, 1])
  })

  test('is invalid for every holder of a key that is burned', async () => {
    const { did, key, entry } = await certified()
    const other = await newOwner()
    const sharing = await claimAgent(service, other.ownerId, key, 'sharing')
    const shared = await certify(sharing)
    await setStatus(service, did, 'revoked', 'key_compromised')
    await assertStatuses(entry, [1])
    await assertStatuses(shared, [2, 1])
  })

  test('is suspended with the key, or with the owner', async () => {
    const first = await certified()
    await setStatus(service, first.did, 'suspended', null, 'operator')
    await assertStatuses(first.entry, [2])
    await setStatus(service, first.did, 'active', null, 'operator')
    await assertStatuses(first.entry, [2, 0])
    const deps = { db: service.operator.db, now: clock.now }
    const second = await certified()
    await suspendOwner(deps, second.owner.ownerId, null)
    await assertStatuses(second.entry, [2])
    await reactivateOwner(deps, second.owner.ownerId)
    await assertStatuses(second.entry, [2, 0])
  })

  test('is invalid once the assurance is lower, although the grade stays the same', async () => {
    const { owner, did, entry } = await certified()
    await verifyAs(owner.ownerId, 'in-person', 'high')
    await until(async () => {
      const { claims } = decodeJws(await certificateOf(service, did))
      return claims.assurance === 'high'
    })
    assert.deepEqual(await certify(did), entry, 'a better certificate keeps the entry')
    await assertStatuses(entry, [])
    await verifyAs(owner.ownerId, 'in-person', 'substantial')
    await assertStatuses(entry, [1])
    await assertStatuses(await certify(did), [])
  })

  test('is invalid once the verification that it names is lost, although another one gives the same grade', async () => {
    const { owner, did, entry } = await certified()
    await verifyAs(owner.ownerId, 'another', 'substantial')
    await assertStatuses(entry, [])
    const { db } = service.operator
    await unverifyOwner({ db, now: clock.now }, owner.ownerId, 'in-person')
    await assertStatuses(entry, [1])
    const next = await certify(did)
    await unverifyOwner({ db, now: clock.now }, owner.ownerId, 'another')
    await assertStatuses(next, [1])
    await assertStatuses(await certify(did), [])
  })

  test('is invalid once the verification has expired, also for an agent that was suspended meanwhile', async () => {
    const owner = await newOwner()
    const pepper = loadPepper(service.settings)
    const subject = { provider: 'in-person', issuer: 'host', subject: String(owner.ownerId) }
    const expiresAt = clock.now() + HOUR_MS
    await verifyOwner({ db: service.operator.db, now: clock.now, pepper }, owner.ownerId, {
      ...subject,
      assurance: 'substantial',
      expiresAt,
    })
    const [active, suspended] = [
      await claimAgent(service, owner.ownerId),
      await claimAgent(service, owner.ownerId, newKey(), 'second'),
    ]
    const [first, second] = [await certify(active), await certify(suspended)]
    await setStatus(service, suspended, 'suspended')
    clock.advance(2)
    await untilTicked(service, async () => (await fedStatuses(service, first)).includes(1))
    await assertStatuses(second, [2])
    const again = await owner.post(`${AGENTS}/${suspended}/reactivate`)
    assert.equal(again.status, 200, again.text)
    await assertStatuses(second, [2, 1])
  })

  test('is invalid once the account is deleted', async () => {
    const { owner, entry } = await certified()
    const { username } = await service.operator.db.read
      .selectFrom('owners')
      .select('username')
      .where('id', '=', owner.ownerId)
      .executeTakeFirstOrThrow()
    const answer = await owner.post('/api/account/deletion', { username })
    assert.equal(answer.status, 200, answer.text)
    await assertStatuses(entry, [1])
  })

  test('requests at the same time share one entry; no two agents do', async () => {
    const owner = await newOwner()
    const dids: string[] = []
    for (let i = 0; i < 8; i++)
      dids.push(await claimAgent(service, owner.ownerId, newKey(), `agent-${i}`))
    const all = await Promise.all(dids.flatMap((did) => [certify(did), certify(did), certify(did)]))
    const texts = all.map(({ list, idx }) => `${list}:${idx}`)
    assert.equal(new Set(texts).size, dids.length)
    for (const [i] of dids.entries()) assert.equal(new Set(texts.slice(3 * i, 3 * i + 3)).size, 1)
    const { changes } = await readFeed(service)
    assert.deepEqual(
      changes.map(({ n }) => n),
      changes.map((_, i) => i + 1),
      'from 1, without gaps',
    )
  })
})
