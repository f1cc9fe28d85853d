import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { isAgentEntry, keyThumbprint, type LogReport } from '@countersign/protocol'
import { certificateOf } from '../../../../test/support/agent-certificates.ts'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { buildGo } from '../../../../test/support/go.ts'
import { newKey, type TestKey } from '../../../../test/support/key.ts'
import { renounceWith, rotateTo } from '../../../../test/support/key-operations.ts'
import { logInfo, logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { run } from '../../../../test/support/run.ts'
import {
  claimAgent,
  countersignd,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import type { SignedInOwner } from '../../../../test/support/signed-in.ts'
import { needs } from '../../../../test/support/tools.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import {
  AGENTS,
  assertEnded,
  assertProves,
  historyOf,
  keysOf,
  recoverWith,
  signInBy,
  startRecovery,
} from '../agents/keys/with-keys.ts'
import { mirrorOf } from './mirror-of.ts'
import { assertVerifies, type Backup, backUp, putBack } from './restored.ts'

interface Recovered {
  readonly entries: number
  readonly rotated: string[]
  readonly lost: string[]
  readonly suspended: string[]
  readonly reactivated: string[]
  readonly revoked: string[]
  readonly unknown: string[]
}

/** Agents of one owner, each with its key. */
class Agents {
  readonly keys = new Map<string, TestKey>()
  readonly dids = new Map<string, string>()
  readonly service: TestService
  readonly ownerId: number

  constructor(service: TestService, ownerId: number) {
    this.service = service
    this.ownerId = ownerId
  }

  async claim(name: string): Promise<string> {
    const key = newKey()
    const did = await claimAgent(this.service, this.ownerId, key, name)
    this.keys.set(name, key)
    this.dids.set(name, did)
    return did
  }

  did(name: string): string {
    return this.dids.get(name) as string
  }

  key(name: string): TestKey {
    return this.keys.get(name) as TestKey
  }

  async rotate(name: string, sequence: number, service = this.service): Promise<TestKey> {
    const next = newKey()
    const answer = await rotateTo(service, this.did(name), { old: this.key(name), next, sequence })
    assert.equal(answer.status, 200, answer.text)
    this.keys.set(name, next)
    return next
  }
}

interface World {
  readonly service: TestService
  readonly agents: Agents
  readonly owner: SignedInOwner
}

async function open(t: TestContext, names: readonly string[]): Promise<World> {
  const service = await startTestService(t, { RECOVERY_DELAY: '0' })
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signInBy(service, ownerId, Date.now)
  const agents = new Agents(service, ownerId)
  for (const name of names) await agents.claim(name)
  await untilLogged(service, names.length)
  return { service, agents, owner }
}

/** @returns how many entries the log has, under its served checkpoint too */
async function untilAllLogged({ service }: Pick<World, 'service'>): Promise<number> {
  const { db } = service.operator
  const queued = () => db.read.selectFrom('log_queue').select('seq').execute()
  await untilTicked(service, async () => (await queued()).length === 0)
  const { size } = await db.read.selectFrom('log_epochs').select('size').executeTakeFirstOrThrow()
  await untilLogged(service, size)
  return size
}

/** The machine is lost: the backup is put back, and nothing on the new one knows the log. */
async function restart(
  t: TestContext,
  { service }: Pick<World, 'service'>,
  backup: Backup,
): Promise<TestService> {
  await service.stop()
  const operator = await openOperator(service.settings)
  await putBack(operator.db, backup)
  await operator.close()
  rmSync(join(service.settings.dataDir, ANCHOR_FILE))
  const restored = await startTestService(t, service.env)
  leaveUncompared(restored)
  await untilTicked(restored, async () => (await logOf(restored)).code === 'no-anchor')
  return restored
}

async function logOf(service: TestService): Promise<LogReport> {
  return jsonOf<{ log: LogReport }>(await ask(service, '/readyz')).log
}

/**
 * Recovers the log, and waits until the service, which runs, has followed the changes.
 * @param last the state that the last agent gets: they change in the order of the log
 */
async function recover(
  service: TestService,
  mirror: string,
  last: readonly [did: string, ...state: unknown[]],
): Promise<Recovered> {
  const args = ['log', 'recover', '--from', mirror, '--json']
  const { code, stdout, stderr } = await countersignd(service.env, ...args)
  assert.equal(code, 0, stderr)
  const [did, ...state] = last
  await untilTicked(service, async () => isDeepStrictEqual(await stateOf(service, did), state))
  return JSON.parse(stdout) as Recovered
}

async function stateOf(service: TestService, did: string): Promise<unknown[]> {
  const agent = jsonOf(await ask(service, `/api/agents/${did}`))
  return [agent.status, agent.statusReason, agent.keySequence]
}

/** Asserts that the log and the chain of the feed are whole. */
async function assertStoredLog({ env }: TestService): Promise<void> {
  assert.match((await countersignd(env, 'doctor')).stdout, /ok +stored log: /)
}

async function change(owner: SignedInOwner, did: string, to: string, body: object = {}) {
  const answer = await owner.post(`${AGENTS}/${did}/${to}`, body)
  assert.equal(answer.status, 200, answer.text)
}

async function contest(owner: SignedInOwner, did: string, sequence: number, reason: string) {
  await change(owner, did, 'keys/contest', { sequence, reason })
}

test('the last state of each agent is that of the log, and nothing is logged twice', async (t) => {
  const home = tempDir(t)
  const names = ['rotated', 'mistake', 'stolen', 'suspended', 'resumed', 'revoked', 'burned']
  const world = await open(t, [...names, 'held', 'lifted', 'renounced', 'channel', 'untouched'])
  const { service, agents, owner } = world
  const operator = (...args: string[]) => countersignd(service.env, 'agent', ...args)
  await change(owner, agents.did('resumed'), 'suspend')
  assert.equal((await operator('suspend', agents.did('lifted'))).code, 0)
  const place = { kind: 'domain', tier: 2, handle_or_domain: 'a.example' } as const
  const tail = agents.did('channel').slice(-24)
  await service.operator.db.write((tx) => insertProvenChannel(tx, tail, place))
  // They have entries in the lists of certificates' status, which change with them.
  for (const name of ['rotated', 'stolen', 'suspended', 'held', 'revoked'])
    assert.ok(await certificateOf(service, agents.did(name)))
  await untilAllLogged(world)
  const backup = await backUp(service.operator.db)

  const first = new Map(agents.keys)
  await agents.rotate('rotated', 2)
  await agents.rotate('rotated', 3)
  await agents.rotate('mistake', 2)
  const mistaken = agents.key('mistake')
  await contest(owner, agents.did('mistake'), 1, 'mistake')
  agents.keys.set('mistake', first.get('mistake') as TestKey)
  await agents.rotate('stolen', 2)
  await contest(owner, agents.did('stolen'), 1, 'key_compromised')
  await change(owner, agents.did('suspended'), 'suspend')
  await change(owner, agents.did('resumed'), 'reactivate')
  await change(owner, agents.did('revoked'), 'revoke', { reason: 'retired' })
  await change(owner, agents.did('burned'), 'revoke', { reason: 'key_compromised' })
  assert.equal((await operator('suspend', agents.did('held'), '--reason', 'spam')).code, 0)
  assert.equal((await operator('reactivate', agents.did('lifted'))).code, 0)
  const renouncing = { old: agents.key('renounced'), sequence: 1 }
  assert.equal((await renounceWith(service, agents.did('renounced'), renouncing)).status, 200)
  const { renouncing: until } = await keysOf(service, agents.did('renounced'))
  assert.ok(until)
  const [channel] = await service.operator.db.read.selectFrom('channels').select('id').execute()
  const removed = await owner.send(
    'DELETE',
    `${AGENTS}/${agents.did('channel')}/channels/${channel?.id}`,
  )
  assert.ok(removed.status < 300, removed.text)
  const unknown = await agents.claim('unknown')
  const size = await untilAllLogged(world)
  const before = await readLog(`${service.url}/log`, await logKey(service.url))
  await assertVerifies(service, home)
  const mirror = await mirrorOf(service, tempDir(t))

  const restored = await restart(t, world, backup)
  const did = (name: string) => agents.did(name)
  const last = [did('renounced'), 'suspended', 'renounced_by_agent', 1] as const
  const recovered = await recover(restored, mirror, last)
  const sorted = (list: string[]) => list.toSorted()
  assert.deepEqual(
    sorted(recovered.rotated),
    sorted([did('rotated'), did('mistake'), did('stolen')]),
  )
  assert.deepEqual(
    sorted(recovered.suspended),
    sorted([did('suspended'), did('stolen'), did('held'), did('renounced')]),
  )
  assert.deepEqual(sorted(recovered.reactivated), sorted([did('resumed'), did('lifted')]))
  assert.deepEqual(sorted(recovered.revoked), sorted([did('revoked'), did('burned')]))
  assert.deepEqual([recovered.lost, recovered.unknown], [[], [unknown]])
  // Again: nothing is left to do.
  const again = await recover(restored, mirror, last)
  assert.deepEqual(Object.values(again).flat(), [0])

  assert.deepEqual(await stateOf(restored, did('rotated')), ['active', null, 3])
  await assertProves(restored, agents.key('rotated'), did('rotated'))
  await assertEnded(restored, first.get('rotated') as TestKey, /was replaced/)
  assert.deepEqual(await stateOf(restored, did('mistake')), ['active', null, 3])
  await assertProves(restored, agents.key('mistake'), did('mistake'))
  await assertEnded(restored, mistaken, /reported as compromised/)
  assert.deepEqual((await stateOf(restored, did('stolen'))).slice(0, 2), [
    'suspended',
    'key_compromised',
  ])
  for (const key of [first.get('stolen') as TestKey, agents.key('stolen')])
    await assertEnded(restored, key, /reported as compromised/)
  await assertEnded(restored, agents.key('burned'), /reported as compromised/)
  assert.deepEqual(await stateOf(restored, did('held')), ['suspended', 'spam', 1])
  assert.deepEqual((await keysOf(restored, did('renounced'))).renouncing, until)
  const token = await restored.operator.issueToken(agents.ownerId)
  const held = agents.key('held')
  const claim = { claimToken: token, agentId: 'other', publicKey: held.publicKey }
  const claimed = await post(restored, '/api/v1/claim', {
    ...claim,
    signature: held.sign(`${token}|other`),
  })
  assert.equal(claimed.status, 409, 'the operator has suspended the key')
  const channels = await restored.operator.db.read.selectFrom('channels').selectAll().execute()
  assert.notEqual(channels[0]?.stale_since, null)

  // The log goes on from where it was, with the next numbers, and a verifier that has seen it before accepts that.
  await agents.rotate('rotated', 4, restored)
  await change(await signInBy(restored, agents.ownerId, Date.now), did('untouched'), 'suspend')
  await untilAllLogged({ service: restored })
  const after = await readLog(`${restored.url}/log`, await logKey(restored.url))
  assert.deepEqual(after.raw.slice(0, size), before.raw)
  await assertVerifies(restored, home)
  await assertVerifies(restored, tempDir(t))
  await assertStoredLog(restored)
  if (needs('go', 'golang.org/x/mod').skip === false) {
    const { verifierKey } = await logInfo(restored.url)
    const go = await run(await buildGo(t, 'log-verify'), [`${restored.url}/log`, verifierKey])
    assert.equal(go.code, 0, go.stderr)
  }
  const added = after.entries.slice(size).filter(isAgentEntry)
  assert.deepEqual(added.map((entry) => [entry.type, entry.did, entry.keySequence]).toSorted(), [
    ['key_rotated', did('rotated'), 4],
    ['status', did('untouched'), 1],
  ])
})

test('an agent whose key the database has lost verifies nowhere until its owner recovers it', async (t) => {
  const home = tempDir(t)
  const world = await open(t, ['lost', 'twice', 'operator'])
  const { service, agents, owner } = world
  for (const did of agents.dids.values()) assert.ok(await certificateOf(service, did))
  await untilAllLogged(world)
  const backup = await backUp(service.operator.db)
  const old = new Map(agents.keys)
  for (const name of ['lost', 'twice', 'operator']) {
    const token = await startRecovery(owner, agents.did(name), 'key_lost')
    const next = newKey()
    const done = await recoverWith(service, agents.did(name), { token, next, sequence: 2 })
    assert.equal(done.status, 200, done.text)
    agents.keys.set(name, next)
  }
  // Its keys have signed this rotation, but the one before is not known.
  await agents.rotate('twice', 3)
  await countersignd(service.env, 'agent', 'suspend', agents.did('operator'), '--reason', 'spam')
  await untilAllLogged(world)
  await assertVerifies(service, home)
  const mirror = await mirrorOf(service, tempDir(t))

  const restored = await restart(t, world, backup)
  const last = [agents.did('operator'), 'suspended', 'spam', 2] as const
  const recovered = await recover(restored, mirror, last)
  const dids = ['lost', 'twice', 'operator'].map((name) => agents.did(name))
  assert.deepEqual(recovered.lost.toSorted(), dids.toSorted())
  assert.deepEqual([recovered.rotated, recovered.reactivated], [[], []])
  const [did, twice] = dids as [string, string, string]
  const unknown = 'key_unknown_after_restore'
  assert.deepEqual(await stateOf(restored, did), ['suspended', unknown, 2])
  assert.deepEqual(await stateOf(restored, twice), ['suspended', unknown, 3])
  assert.deepEqual(await historyOf(restored, did), [
    [1, 'retired', 'claim'],
    [2, 'lost', 'recovery'],
  ])
  assert.deepEqual(await historyOf(restored, twice), [
    [1, 'retired', 'claim'],
    [2, 'lost', 'recovery'],
    [3, 'lost', 'rotation'],
  ])

  // Lookup, verify, key set, DID documents, key history, certificate and grade.
  const thumbprint = keyThumbprint(Buffer.from(agents.key('lost').publicKey, 'base64'))
  const shown = jsonOf(await ask(restored, `/api/agents/${did}`))
  assert.deepEqual([shown.keyThumbprint, shown.grade], [thumbprint, 'E'])
  const bytes = Buffer.from(thumbprint, 'base64url').toString('base64')
  assert.equal(shown.publicKey, bytes)
  assert.equal((await keysOf(restored, did)).keys.at(-1)?.keyThumbprint, thumbprint)
  await assertEnded(restored, old.get('lost') as TestKey, /was replaced/)
  const gone = await post(restored, '/api/v1/agent/verify', verifyBody(agents.key('lost')))
  assert.equal(gone.status, 404, gone.text)
  assert.equal((await ask(restored, `/api/v1/agent/${encodeURIComponent(bytes)}`)).status, 404)
  const document = await ask(restored, `/api/agents/${did}`, {
    headers: { accept: 'application/did+json' },
  })
  assert.deepEqual(jsonOf(document).verificationMethod, [], document.text)
  const keySet = await ask(restored, `/agent/${did}/jwks.json`)
  assert.deepEqual((JSON.parse(keySet.text) as { keys: unknown[] }).keys, [])
  assert.equal((await ask(restored, `/api/v1/keys/${thumbprint}`)).status, 404)
  const refused = await rotateTo(restored, did, {
    old: agents.key('lost'),
    next: newKey(),
    sequence: 3,
  })
  assert.equal(refused.status, 401, refused.text)
  const session = await signInBy(restored, agents.ownerId, Date.now)
  const reactivated = await session.post(`${AGENTS}/${did}/reactivate`, {})
  assert.equal(reactivated.status, 403, reactivated.text)
  // Nobody has it in the database to report it.
  for (const [path, body] of [
    ['compromised', { sequence: 2 }],
    ['contest', { sequence: 1, reason: 'key_compromised' }],
  ] as const)
    assertRefused(await session.post(`${AGENTS}/${did}/keys/${path}`, body), 409, 'CONFLICT')

  // The owner recovers it, also with the key that was lost, under the next number.
  for (const [name, sequence, status] of [
    ['lost', 3, 'active'],
    ['twice', 4, 'active'],
    ['operator', 3, 'suspended'],
  ] as const) {
    const token = await startRecovery(session, agents.did(name), 'key_lost')
    const next = name === 'lost' ? agents.key('lost') : newKey()
    const done = await recoverWith(restored, agents.did(name), { token, next, sequence })
    assert.equal(done.status, 200, done.text)
    assert.equal((await stateOf(restored, agents.did(name)))[0], status)
    if (status === 'active') await assertProves(restored, next, agents.did(name))
  }
  await untilAllLogged({ service: restored })
  await assertVerifies(restored, home)
  await assertStoredLog(restored)
  const { entries } = await readLog(`${restored.url}/log`, await logKey(restored.url))
  const statuses = entries.filter((entry) => isAgentEntry(entry) && entry.did === did)
  assert.deepEqual(
    statuses.map((entry) =>
      entry.type === 'status' ? `${entry.status} ${entry.reason}` : entry.type,
    ),
    [
      'claimed',
      'key_recovery_started',
      'key_recovered',
      `suspended ${unknown}`,
      'key_recovery_started',
      'key_recovered',
      'active null',
      'grade',
    ],
  )
})
