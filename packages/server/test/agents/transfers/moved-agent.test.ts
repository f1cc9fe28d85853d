import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type {
  AccountExport,
  Activity,
  AgentGrants,
  AgentHistory,
  CertificateClaims,
  Notifications,
  Openings,
} from '@countersign/protocol'
import {
  certificateOf,
  decodeJws,
  stapleClaims,
  stapleOf,
} from '../../../../../test/support/agent-certificates.ts'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { createGroup } from '../../../../../test/support/delegation-groups.ts'
import { newKey } from '../../../../../test/support/key.ts'
import type { SignedInOwner } from '../../../../../test/support/signed-in.ts'
import { fedStatuses, listedStatus, referenceIn } from '../../../../../test/support/status-feed.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'
import { SPREAD_MS } from '../../../src/agents/changes/change-agent.ts'
import { insertIssuer, writeAssignment } from '../../../src/statements/grants/grant-table.ts'
import { AGENTS, accepted, offer, start, TransferWorld } from './with-transfers.ts'

interface Moved {
  readonly world: TransferWorld
  readonly ada: SignedInOwner
  readonly grace: SignedInOwner
  readonly did: string
}

/** Two people, and an agent of the first, which may delegate and has a channel. */
async function open(t: TestContext) {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const key = newKey()
  const did = await world.claim(ada.ownerId, key, 'label of ada')
  const { db } = world.service.operator
  await db.write((tx) =>
    insertProvenChannel(tx, did.slice(-24), {
      kind: 'domain',
      handle_or_domain: 'ada.example',
      tier: 2,
    }),
  )
  return { world, ada, grace, did, key }
}

async function move({ ada, grace, did }: Omit<Moved, 'world'>, to = 'grace'): Promise<void> {
  await accepted(grace, await offer(ada, [did], to))
}

async function untilLogged({ service, clock }: TransferWorld): Promise<void> {
  clock.offset += SPREAD_MS.spread + 1
  const { db } = service.operator
  await untilTicked(service, async () => {
    return (await db.read.selectFrom('log_queue').select('seq').execute()).length === 0
  })
}

const typesOf = async (owner: SignedInOwner, path: string) =>
  jsonOf<AgentHistory>(await owner.get(path)).events.map(({ type }) => type)
const openingsOf = async (owner: SignedInOwner, did: string) =>
  jsonOf<Openings>(await owner.get(`${AGENTS}/${did}/log`)).openings.map(
    ({ entry }) => (JSON.parse(entry) as { type: string }).type,
  )

test('the certificate from before a move is invalid, and the new one says when the owner changed', async (t) => {
  const parties = await open(t)
  const { world, ada, did, key } = parties
  const { service } = world
  await ada.send('PUT', `${AGENTS}/${did}/delegation`, { maxDepth: 2 })
  await until(
    async () => decodeJws(await certificateOf(service, did)).claims.maxDelegationDepth === 2,
  )
  const before = await certificateOf(service, did)
  const { certificate: ofGroup } = jsonOf<{ certificate: string }>(
    await createGroup(service, { did, key }, 'imports'),
  )
  await move(parties)
  const [old, group] = [referenceIn(before), referenceIn(ofGroup)]
  for (const each of [old, group]) {
    await until(async () => (await listedStatus(service, each)) === 1)
    await until(async () => (await fedStatuses(service, each)).at(-1) === 1)
  }
  const after = await certificateOf(service, did)
  assert.notDeepEqual(referenceIn(after), old)
  const { claims } = decodeJws<CertificateClaims>(after)
  const object = jsonOf(await ask(service, `/api/agents/${did}`))
  assert.equal(claims.ownerChangedAt, object.ownerChangedAt)
  assert.equal(claims.maxDelegationDepth, undefined)
  assert.equal(object.maxDelegationDepth, 0)
  assert.ok(claims.iat * 1000 >= Date.parse(claims.ownerChangedAt as string) - 1000)
  const changedAt = Math.floor(Date.parse(claims.ownerChangedAt as string) / 1000)
  assert.ok(stapleClaims(await stapleOf(service, did)).iat >= changedAt)
  assert.deepEqual(jsonOf(await parties.grace.get(`${AGENTS}/${did}/delegations`)).delegations, [])
  const { read } = service.operator.db
  const stated = await read
    .selectFrom('status_entries')
    .select('identity_method')
    .where('tail', '=', did.slice(-24))
    .where('value', '=', 1)
    .execute()
  assert.deepEqual([...new Set(stated.map((row) => row.identity_method))], [null])
})

test('channels are unproven, unless the same person gives and takes', async (t) => {
  const parties = await open(t)
  const { world, ada, grace, did } = parties
  const { service } = world
  const acme = await world.organisation(ada)
  await world.verify(acme.ownerId)
  const kept = await world.claim(ada.ownerId, newKey(), 'kept')
  await service.operator.db.write((tx) =>
    insertProvenChannel(tx, kept.slice(-24), {
      kind: 'domain',
      handle_or_domain: 'kept.example',
      tier: 2,
    }),
  )
  assert.equal((await start(ada, [kept], 'acme')).status, 201)
  await move(parties)
  const channelsOf = async (who: SignedInOwner, agent: string) =>
    jsonOf<{ channels: { handleOrDomain: string }[] }>(
      await who.get(`${AGENTS}/${agent}/channels`),
    ).channels.map(({ handleOrDomain }) => handleOrDomain)
  assert.deepEqual(await channelsOf(acme, kept), ['kept.example'])
  assert.deepEqual(await channelsOf(grace, did), [])
  await until(async () => (await ask(service, `/api/agents/${did}`)).text.includes('grace'))
  assert.ok(!(await ask(service, `/api/agents/${did}`)).text.includes('ada.example'))
  assert.ok((await ask(service, `/api/agents/${kept}`)).text.includes('kept.example'))
})

test('a grant issuer of the sender signs no more for the agent', async (t) => {
  const parties = await open(t)
  const { world, ada, did } = parties
  await world.service.operator.db.write(async (tx) => {
    const issuer = { id: 'f'.repeat(32), owner_id: ada.ownerId, name: 'Ada', created_by: null }
    await insertIssuer(tx, { ...issuer, created_at: world.clock.now(), deleted_at: null } as never)
    await writeAssignment(tx, did.slice(-24), issuer.id, world.clock.now())
  })
  assert.ok(jsonOf<AgentGrants>(await ada.get(`${AGENTS}/${did}/grants`)).issuer !== null)
  await move(parties)
  const grants = jsonOf<AgentGrants>(await parties.grace.get(`${AGENTS}/${did}/grants`))
  assert.deepEqual(grants, { issuer: null, authorizationServers: [] })
})

test('each owner sees the events of their own time', async (t) => {
  const parties = await open(t)
  const { ada, grace, did } = parties
  assert.equal((await ada.send('PATCH', `${AGENTS}/${did}`, { displayName: 'Clerk' })).status, 200)
  await move(parties)
  assert.equal((await grace.send('PATCH', `${AGENTS}/${did}`, { displayName: 'Bot' })).status, 200)
  const history = `${AGENTS}/${did}/history`
  const [hers, former] = [await typesOf(grace, history), await typesOf(ada, history)]
  assert.deepEqual(
    hers.filter((type) => type !== 'agent.grade_changed'),
    ['agent.updated', 'agent.owner_changed'],
  )
  assert.deepEqual(
    former.filter((type) => type !== 'agent.grade_changed'),
    ['agent.released', 'channel.removed', 'agent.updated', 'agent.claimed'].toSorted(
      (a, b) => former.indexOf(a) - former.indexOf(b),
    ),
  )
  const activity = async (owner: SignedInOwner) =>
    jsonOf<Activity>(await owner.get('/api/account/activity')).events.flatMap(({ seq, type }) =>
      seq === null || type === 'agent.grade_changed' || type.startsWith('owner.') ? [] : [type],
    )
  assert.deepEqual(await activity(grace), ['agent.updated', 'agent.owner_changed'])
  assert.deepEqual(
    (await activity(ada)).toSorted(),
    ['agent.claimed', 'agent.released', 'agent.updated', 'channel.removed'].toSorted(),
  )
  const stranger = await parties.world.person('stranger')
  assertRefused(await stranger.get(history), 404, 'NOT_FOUND')
  assertRefused(await ada.get(`${AGENTS}/${did}`), 404, 'NOT_FOUND')
  // Back again: the time of another owner in between stays theirs.
  await accepted(ada, await offer(grace, [did], 'ada'))
  const all = (await typesOf(ada, history)).filter((type) => type !== 'agent.grade_changed')
  assert.equal(all[0], 'agent.owner_changed')
  assert.ok(all.includes('agent.released') && all.includes('agent.claimed'))
  assert.equal(all.filter((type) => type === 'agent.updated').length, 1)
})

test('each owner is notified once of all agents of a transfer', async (t) => {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const [ada, grace] = [await world.person('ada'), await world.person('grace')]
  const dids = [await world.claim(ada.ownerId), await world.claim(ada.ownerId, newKey(), 'two')]
  await accepted(grace, await offer(ada, dids, 'grace'))
  const titles = async (owner: SignedInOwner) =>
    jsonOf<Notifications>(await owner.get('/api/account/notifications'))
      .notifications.filter(({ kind }) => kind === 'transfer')
      .map(({ title, security }) => {
        assert.equal(security, true)
        return title
      })
      .toSorted()
  assert.deepEqual(await titles(grace), [
    '2 agents moved to you from “ada”',
    '“ada” offers you 2 agents',
  ])
  assert.deepEqual(await titles(ada), ['2 agents moved to “grace”', '“grace” accepted 2 agents'])
})

test('each owner opens the commitments of their own time, also of entries that waited', async (t) => {
  const parties = await open(t)
  const { world, ada, grace, did } = parties
  await move(parties)
  await untilLogged(world)
  const [sender, receiver] = [
    await world.signInBy(ada.ownerId),
    await world.signInBy(grace.ownerId),
  ]
  assert.deepEqual(
    (await openingsOf(sender, did)).filter((type) => type !== 'grade'),
    ['claimed', 'channel_lost'],
  )
  assert.deepEqual(
    (await openingsOf(receiver, did)).filter((type) => type !== 'grade'),
    ['owner_changed'],
  )
  const stranger = await world.person('stranger')
  assertRefused(await stranger.get(`${AGENTS}/${did}/log`), 404, 'NOT_FOUND')
  const exported = jsonOf<AccountExport>(await receiver.get('/api/account/export'))
  assert.ok(!JSON.stringify(exported.agents).includes('ada.example'))

  // Each erases their own.
  const gone = await sender.post('/api/account/deletion', { username: 'ada' })
  assert.equal(gone.status, 200, gone.text)
  assert.deepEqual(
    (await openingsOf(receiver, did)).filter((type) => type !== 'grade'),
    ['owner_changed'],
  )
  const { read } = world.service.operator.db
  const opened = async () => {
    const rows = await read
      .selectFrom('log_entries')
      .select('entry')
      .where('evidence', 'is not', null)
      .execute()
    return rows.filter(({ entry }) => entry.includes(did)).length
  }
  const left = await read
    .selectFrom('events')
    .select('payload')
    .where('tail', '=', did.slice(-24))
    .where('type', '=', 'channel.removed')
    .execute()
  assert.deepEqual(
    left.map(({ payload }) => payload),
    ['{}'],
  )
  assert.ok((await opened()) >= 1)
  const last = await receiver.post('/api/account/deletion', { username: 'grace' })
  assert.equal(last.status, 200, last.text)
  assert.equal(await opened(), 0)
})

test('the receiver who deletes their account erases nothing of the sender', async (t) => {
  const parties = await open(t)
  const { world, ada, grace, did } = parties
  await move(parties)
  await untilLogged(world)
  const [sender, receiver] = [
    await world.signInBy(ada.ownerId),
    await world.signInBy(grace.ownerId),
  ]
  const gone = await receiver.post('/api/account/deletion', { username: 'grace' })
  assert.equal(gone.status, 200, gone.text)
  const opened = (await openingsOf(sender, did)).filter((type) => type !== 'grade')
  assert.deepEqual(opened, ['claimed', 'channel_lost'])
  const history = await sender.get(`${AGENTS}/${did}/history`)
  assert.ok(history.text.includes('ada.example'))
})
