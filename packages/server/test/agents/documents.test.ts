import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card, CompactCard, Lookup } from '@countersign/protocol'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import type { AgentRow, ChannelRow } from '../../src/database/database.ts'
import { appendAgentEvent, appendEvent } from '../../src/database/event-table.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'

test('the identity level is the strongest verification, and the card shows the most recent one', async (t) => {
  const { service, did, owner } = await claimed(t)
  await verify(service, owner, 'mitid', 'high', 1)
  await verify(service, owner, 'github', 'low', 2)
  await until(service, did, ({ verification }) => verification?.provider === 'github')
  const lookup = await ask<Lookup>(service, `/api/v1/agent/${did}`)
  assert.deepEqual([lookup.owner.identityMethod, lookup.owner.identityLevel], ['mitid', 'verified'])
})

test('among verifications of equal assurance the most recent one counts', async (t) => {
  const { service, did, owner } = await claimed(t)
  await verify(service, owner, 'idme', 'substantial', 1)
  await until(service, did, ({ verification }) => verification?.provider === 'idme')
  const lookup = await ask<Lookup>(service, `/api/v1/agent/${did}`)
  assert.equal(lookup.owner.identityMethod, 'idme')
})

test('an agent without a profile is named after its DID, as display name and chat handle', async (t) => {
  const { service, did } = await claimed(t)
  const card = await ask<Card>(service, `/api/agents/${did}/card`)
  const compact = await ask<CompactCard>(service, `/api/v1/agent/${did}/card`)
  assert.equal(card.displayName, `Agent ${did.slice(-24, -18)}`)
  assert.deepEqual(
    [card.username, card.description, card.channels, card.tier],
    [null, '', [], null],
  )
  assert.equal(compact.chatHandle, `@${did.slice(-24)}`)
  assert.equal((await fetch(card.avatarUrl)).headers.get('content-type'), 'image/svg+xml')
})

test('the compact card says verified, claim or unverified', async (t) => {
  const { service, did } = await claimed(t)
  const says = async () =>
    (await ask<CompactCard>(service, `/api/v1/agent/${did}/card`)).verificationStatus
  assert.equal(await says(), 'verified')
  await service.operator.db.write(async (tx) => {
    await tx.db.deleteFrom('identity_verifications').execute()
    const seq = tx.nextSeq()
    const type = 'owner.identity_expired'
    await appendEvent(tx, { seq, at: Date.now(), type, tail: null, ownerId: 1, payload: {} })
  })
  await until(service, did, ({ verification }) => verification === null)
  assert.equal(await says(), 'claim')
  await update(service, did, { status: 'suspended' })
  await until(service, did, ({ status }) => status === 'suspended')
  assert.equal(await says(), 'unverified')
})

async function claimed(t: { after(end: () => unknown): void }, now: () => number = Date.now) {
  const service = await startTestService(t, {}, now)
  const owner = await service.operator.addVerifiedOwner('ada')
  return { service, owner, did: await claimAgent(service, owner) }
}

async function ask<T>(service: TestService, path: string): Promise<T> {
  return (await (await fetch(service.url + path)).json()) as T
}

/** @param ahead milliseconds from now to the verification, since equal times have no order */
function verify(
  { operator, settings }: TestService,
  ownerId: number,
  provider: string,
  assurance: 'low' | 'substantial' | 'high',
  ahead = 0,
): Promise<boolean> {
  const deps = {
    db: operator.db,
    now: () => Date.now() + ahead,
    pepper: loadPepper(settings),
  }
  const subject = { provider, issuer: 'x', subject: 'y' }
  return verifyOwner(deps, ownerId, { ...subject, assurance, expiresAt: null })
}

/** Changes a row and records the event in the same transaction, as the dashboard does. */
function update({ operator }: TestService, did: string, row: Partial<AgentRow>): Promise<void> {
  return operator.db.write(async (tx) => {
    const version = tx.nextSeq()
    const tail = did.slice(-24)
    await tx.db
      .updateTable('agents')
      .set({ ...row, version })
      .where('tail', '=', tail)
      .execute()
    const event = { seq: version, at: Date.now(), tail, ownerId: 1, payload: {} }
    await appendAgentEvent(tx, { ...event, type: 'agent.updated' })
  })
}

async function _addChannel(
  service: TestService,
  did: string,
  channel: Pick<ChannelRow, 'kind' | 'handle_or_domain' | 'tier'> & { fresh_until?: number },
): Promise<void> {
  await service.operator.db.write((tx) => insertProvenChannel(tx, did.slice(-24), channel))
  await update(service, did, {})
}

async function until(
  service: TestService,
  did: string,
  condition: (card: Card) => boolean,
): Promise<Card> {
  const card = () => ask<Card>(service, `/api/agents/${did}/card`)
  await untilTicked(service, async () => condition(await card()))
  return card()
}
