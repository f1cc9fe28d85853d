import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { encodeBase64, type JsonValue, signDirectory } from '@countersign/protocol'
import { certificateOf } from '../../../../test/support/agent-certificates.ts'
import { type Answer, jsonOf } from '../../../../test/support/answer.ts'
import { asked, deny } from '../../../../test/support/approvals.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { createGroup, endGroup } from '../../../../test/support/delegation-groups.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import {
  endDelegationsBody,
  renounceBody,
  reportBody,
  rotationBody,
  vetoBody,
} from '../../../../test/support/key-operations.ts'
import { claimBody, startTestService, type TestService } from '../../../../test/support/service.ts'
import { ownerById } from '../../src/accounts/owner-table.ts'
import { setStatus } from '../../src/agents/changes/set-status.ts'
import { reactivateOwner, suspendOwner } from '../../src/agents/manage/suspend-owner.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import type { OwnerRow } from '../../src/database/database.ts'
import { type ChangeType, ChangeWatcher, type Expected, TABLE } from './change-table.ts'
import { AGENTS, recoverWith, signInBy, startRecovery, TestClock } from './keys/with-keys.ts'

/** Drives each kind of change over HTTP, on an agent with a certificate, and compares what it leaves with the table. */
suite('a change of an agent', () => {
  const clock = new TestClock()
  const driven = new Set<ChangeType>()
  const ends: (() => unknown)[] = []
  let service: TestService
  before(async () => {
    service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
    assert.deepEqual([...driven].toSorted(), Object.keys(TABLE).toSorted(), 'a kind is not driven')
  })

  /** Claims an agent and gets its certificate. */
  async function start() {
    const ownerId = await service.operator.addVerifiedOwner()
    const key = newKey()
    const token = await service.operator.issueToken(ownerId)
    const body = claimBody(token, key)
    const claimed = await post(service, '/api/v1/claim', body)
    const did = jsonOf(claimed).svcDid as string
    const watcher = new ChangeWatcher(service, did, clock.now)
    const expect = async (expected: Expected, change: () => Promise<unknown>) => {
      for (const type of await watcher.expect(expected, change)) driven.add(type)
    }
    const { agentId, publicKey, signature } = body
    const claimTokenHash = encodeBase64(hashToken(token))
    const signed = { agentId, publicKey, signature, claimTokenHash }
    await expect({ types: ['agent.claimed'], signed }, async () => claimed)
    await certificateOf(service, did)
    const owner = () => signInBy(service, ownerId, clock.now)
    const send = async (method: string, path: string, request?: object) =>
      ok(await (await owner()).send(method, `${AGENTS}/${did}${path}`, request))
    const begin = async (reason: 'key_lost' | 'key_compromised') =>
      startRecovery(await owner(), did, reason)
    return { ownerId, owner, key, did, watcher, expect, send, begin }
  }

  type Agent = Awaited<ReturnType<typeof start>>

  /** Adds a channel that the agent proves by a signature of its key. @returns the channel's path */
  async function addRuntime({ did, key, send, expect }: Agent, grades = true): Promise<string> {
    const added = await send('POST', '/channels', { kind: 'runtime', handleOrDomain: 'server' })
    const types: ChangeType[] = ['channel.verified', ...(grades ? GRADE : [])]
    await expect({ types }, async () => {
      const runtime = `/api/agents/${did}/runtime`
      const { challenge } = jsonOf(ok(await post(service, `${runtime}/challenge`, {})))
      const text = challenge as string
      ok(await post(service, runtime, { challenge: text, signature: key.sign(text) }))
    })
    await certificateOf(service, did)
    return `/channels/${jsonOf(added).id}`
  }

  async function rotate({ did, expect }: Agent, old: TestKey, next: TestKey, ends: ChangeType[]) {
    const sequence = 2
    const body = rotationBody(service, did, { old, next, sequence }, clock.signed)
    const { issuedAt, oldSignature, newSignature } = body
    const keys = { prevKey: old.publicKey, newKey: next.publicKey }
    const signed = { service: service.url, issuedAt, ...keys, oldSignature, newSignature }
    await expect({ types: ['agent.key_rotated', ...ends], signed, entry: 'another' }, async () =>
      ok(await post(service, `/api/v1/agent/${did}/keys`, body)),
    )
  }

  test('of its texts and its directory leaves an event', async () => {
    const { did, key, expect, send } = await start()
    await expect({ types: ['agent.updated'] }, () => send('PATCH', '', { displayName: 'Clerk' }))
    const created = clock.signed.issuedAt
    const publicKey = new Uint8Array(Buffer.from(key.publicKey, 'base64'))
    const authority = new URL(service.url).host
    const claim = { authority, publicKey, created, expires: created + 3600 }
    const proof = await signDirectory(
      claim,
      (message) => new Uint8Array(sign(null, message, key.privateKey)),
    )
    await expect({ types: ['agent.directory_proven'] }, async () =>
      ok(
        await ask(service, `/api/v1/agent/${did}/directory-proof`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(proof),
        }),
      ),
    )
  })

  test('of approvals is not public', async () => {
    const { did, key, ownerId, expect, send, watcher } = await start()
    const owner = await signInBy(service, ownerId, clock.now)
    await send('PUT', '/approvals', { enabled: true })
    const { updated_at: before } = await watcher.agent()
    let id = ''
    await expect({ types: ['agent.approval_requested'] }, async () => {
      const at = { createdAt: clock.now() }
      id = (await asked({ service, did, key }, undefined, at)).id
    })
    await expect({ types: ['agent.approval_decided'] }, async () => ok(await deny({ owner }, id)))
    assert.equal((await watcher.agent()).updated_at, before)
  })

  test('of its status', async () => {
    const agent = await start()
    const { did, expect, send, begin } = agent
    await addRuntime(agent)
    const by = 'owner'
    await expect({ types: ['agent.suspended', ...GRADE], by, entry: 'suspended' }, () =>
      send('POST', '/suspend', { reason: 'paused' }),
    )
    await expect({ types: ['agent.reactivated', ...GRADE], by, entry: 'valid' }, () =>
      send('POST', '/reactivate', {}),
    )
    await expect({ types: ['agent.key_recovery_started'] }, () => begin('key_lost'))
    const types: ChangeType[] = ['agent.revoked', ...GRADE, 'agent.key_recovery_cancelled']
    await expect({ types, by, entry: 'invalid' }, () => send('POST', '/revoke', {}))
    assert.deepEqual(await dueFor(did), [], 'nothing is checked or expires any more')
  })

  test('of its channels', async () => {
    const agent = await start()
    const { expect, send } = agent
    const path = await addRuntime(agent)
    const removed: ChangeType[] = ['channel.removed', ...GRADE]
    await expect({ types: removed, by: 'owner', entry: 'another' }, () => send('DELETE', path))
    await addRuntime(agent)
    await expect({ types: ['channel.stale', ...GRADE], entry: 'another' }, async () =>
      clock.advance(24 * 31),
    )
  })

  test('of its key', async () => {
    const agent = await start()
    const { did, key, expect, send, begin } = agent
    const next = newKey()
    await expect({ types: ['agent.key_recovery_started'] }, () => begin('key_lost'))
    await rotate(agent, key, next, ['agent.key_recovery_cancelled'])
    const contested: ChangeType[] = ['agent.key_contested', 'agent.key_compromised']
    await expect({ types: contested, entry: 'another' }, () =>
      send('POST', '/keys/contest', { sequence: 1, reason: 'mistake' }),
    )
    await expect({ types: ['agent.key_recovery_started'] }, () => begin('key_lost'))
    const body = vetoBody(service, did, { old: key, sequence: 3 }, clock.signed)
    const { issuedAt, signature } = body
    const evidence: JsonValue = { service: service.url, issuedAt, signature }
    await expect({ types: ['agent.key_recovery_vetoed'], signed: { evidence } }, async () =>
      ok(await post(service, `/api/v1/agent/${did}/recovery/veto`, body)),
    )
    await expect({ types: ['agent.key_recovery_started'] }, () => begin('key_lost'))
    await expect({ types: ['agent.key_recovery_cancelled'] }, () => send('DELETE', '/recovery'))
  })

  test('of its delegation', async () => {
    const { did, key, expect, send } = await start()
    const types: ChangeType[] = ['agent.delegation_changed']
    const allow = (maxDepth: number) => () => send('PUT', '/delegation', { maxDepth })
    await expect({ types }, allow(3))
    await expect({ types, entry: 'another' }, allow(1))
    // A group of delegations leaves the agent's own entry alone.
    const create = async () => jsonOf(await createGroup(service, { did, key }, 'a', clock.now))
    let id: unknown
    await expect({ types: ['agent.delegation_created'] }, async () => {
      id = (await create()).id
    })
    await expect({ types: ['agent.delegation_ended'] }, async () =>
      ok(await endGroup(service, { did, key }, String(id), clock.now)),
    )
    await expect({ types, entry: 'invalid' }, () => send('POST', '/delegation/end', {}))
    await certificateOf(service, did)
    const body = endDelegationsBody(service, did, { old: key, sequence: 1 }, clock.signed)
    await expect({ types, entry: 'invalid' }, async () =>
      ok(await post(service, `/api/v1/agent/${did}/delegation/end`, body)),
    )
  })

  test('by its key, which renounces it', async () => {
    const agent = await start()
    const { did, key, expect } = agent
    await addRuntime(agent)
    const body = renounceBody(service, did, { old: key, sequence: 1 }, clock.signed)
    const evidence: JsonValue = { service: service.url, ...body }
    const types: ChangeType[] = ['agent.renounced', 'agent.suspended', ...GRADE]
    const renounced = { types, by: 'agent', signed: { evidence }, entry: 'suspended' } as const
    await expect(renounced, async () =>
      ok(await post(service, `/api/v1/agent/${did}/renounce`, body)),
    )
    await expect({ types: ['agent.revoked'], by: 'service', entry: 'invalid' }, async () =>
      clock.advance(73),
    )
    assert.deepEqual(await dueFor(did), [], 'nothing is due any more')
  })

  test('by a report of its key, with a signature, after it has renounced it', async () => {
    const { did, key, expect } = await start()
    const old = { old: key, sequence: 1 }
    const body = renounceBody(service, did, old, clock.signed)
    const renounced: ChangeType[] = ['agent.renounced', 'agent.suspended', ...GRADE]
    const signed = { evidence: { service: service.url, ...body } as JsonValue }
    await expect({ types: renounced, by: 'agent', signed, entry: 'suspended' }, async () =>
      ok(await post(service, `/api/v1/agent/${did}/renounce`, body)),
    )
    const report = reportBody(service, did, old, clock.signed)
    const reported = {
      types: ['agent.suspended', 'agent.key_compromised'] satisfies ChangeType[],
      by: 'service',
      signed: { evidence: { service: service.url, ...report } as JsonValue },
      isReported: true,
      entry: 'invalid',
    } as const
    await expect(reported, async () =>
      ok(await post(service, `/api/v1/agent/${did}/keys/compromised`, report)),
    )
    assert.deepEqual(await dueFor(did), [], 'it is not revoked any more')
  })

  test('by a report of its key, while it is active, and of a former one', async () => {
    const agent = await start()
    const { key, expect, send } = agent
    const report = (sequence: number) => () => send('POST', '/keys/compromised', { sequence })
    await rotate(agent, key, newKey(), [])
    await expect({ types: ['agent.key_compromised'], isReported: true }, report(1))
    const types: ChangeType[] = ['agent.suspended', ...GRADE, 'agent.key_compromised']
    await expect({ types, by: 'service', entry: 'invalid' }, report(2))
  })

  test('by a recovery, of a key that is lost', async () => {
    const agent = await start()
    const { did, expect, begin } = agent
    await addRuntime(agent)
    let token = ''
    await expect({ types: ['agent.key_recovery_started'] }, async () => {
      token = await begin('key_lost')
    })
    await expect({ types: ['agent.key_recovery_redeemed'] }, async () =>
      ok(await recoverWith(service, did, { token, next: newKey(), sequence: 2 }, clock.signed)),
    )
    const types: ChangeType[] = ['agent.key_recovered', 'channel.stale', ...GRADE]
    await expect({ types, entry: 'another' }, async () => clock.advance(73))
  })

  test('by a contest, of a key that is compromised', async () => {
    const agent = await start()
    const { key, expect, send } = agent
    await addRuntime(agent)
    await rotate(agent, key, newKey(), [])
    const types: ChangeType[] = [
      'agent.key_contested',
      'agent.key_compromised',
      'agent.suspended',
      ...GRADE,
      'agent.key_compromised',
      'channel.stale',
    ]
    await expect({ types, by: 'service', entry: 'invalid' }, () =>
      send('POST', '/keys/contest', { sequence: 1, reason: 'key_compromised' }),
    )
  })

  test('of the status of all agents of an owner, who is notified once', async () => {
    const { did, ownerId, expect } = await start()
    const { db } = service.operator
    const deps = { db, now: clock.now }
    const one = { isBulk: true, by: 'operator' } as const
    await expect({ types: ['agent.suspended', ...GRADE], entry: 'suspended', ...one }, () =>
      suspendOwner(deps, ownerId, null),
    )
    await expect({ types: ['agent.reactivated', ...GRADE], entry: 'valid', ...one }, () =>
      reactivateOwner(deps, ownerId),
    )
    const types: ChangeType[] = ['agent.revoked', ...GRADE]
    const deleted = { types, entry: 'invalid', isBulk: true, by: 'owner', delay: 'day' } as const
    const revoked = { to: 'revoked', reason: 'owner_deleted', setBy: 'owner' } as const
    await expect(deleted, () =>
      db.write((tx) =>
        setStatus(tx, did.slice(-24), { ...revoked, isBulk: true, delay: 'day' }, clock.now()),
      ),
    )
  })

  test('of its owner, whose channels and certificates it loses', async () => {
    const agent = await start()
    const { did, expect, owner, watcher } = agent
    await addRuntime(agent)
    const receiver = await signInBy(service, await service.operator.addVerifiedOwner(), clock.now)
    const { username } = (await ownerById(service.operator.db.read, receiver.ownerId)) as OwnerRow
    const offered = jsonOf(
      ok(await (await owner()).post('/api/account/transfers', { agents: [did], to: username })),
    )
    const transfer = offered.id as string
    ok(await receiver.post(`/api/account/transfers/${transfer}/accept`))
    const types: ChangeType[] = [
      'agent.released',
      'channel.removed',
      ...GRADE,
      'agent.owner_changed',
    ]
    const signed = { transfer }
    const moved = { types, by: 'service', signed, delay: 'spread', entry: 'another' } as const
    await expect(moved, async () => clock.advance(73))
    assert.equal((await watcher.agent()).owner_id, receiver.ownerId)
  })

  test('by its owner, whose verification is removed', async () => {
    const { owner, expect } = await start()
    await expect({ types: GRADE, entry: 'another', delay: 'spread' }, async () =>
      ok(await (await owner()).send('DELETE', '/api/identity/in-person')),
    )
  })

  /** What waits to be checked or to expire. */
  async function dueFor(did: string): Promise<unknown[]> {
    const { read } = service.operator.db
    const channels = await read
      .selectFrom('channels')
      .innerJoin('channel_leases', 'channel_leases.channel_id', 'channels.id')
      .select(['channels.id', 'due_at'])
      .where('tail', '=', did.slice(-24))
      .where('due_at', 'is not', null)
      .execute()
    const jobs = await read.selectFrom('jobs').select('subject').execute()
    const own = await read
      .selectFrom('channels')
      .select('id')
      .where('tail', '=', did.slice(-24))
      .execute()
    const subjects = jobs.map(({ subject }) => subject)
    return [
      ...channels,
      ...subjects.filter((subject) => own.some(({ id }) => subject === id)),
      ...subjects.filter((subject) => subject.includes(did.slice(-24))),
    ]
  }
})

const GRADE: readonly ChangeType[] = ['agent.grade_changed']

function ok(answer: Answer): Answer {
  assert.ok(answer.status < 300, answer.text)
  return answer
}
