import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountExport, Card } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import type { TestService } from '../../../../test/support/service.ts'
import {
  addChannel,
  check,
  DOMAIN,
  type Fixture,
  newAgentOf,
  newProver,
  PLACE,
  type Prover,
  proofField,
  prove,
  publicView,
  runAction,
  startChannelFixture,
} from './support/channel-fixture.ts'
import { onlyChannel } from './support/scheduled-checks.ts'

function tokenIn(line: string): string {
  return /token=(\w{22})/.exec(line)?.[1] as string
}

async function deleteAccount({ service }: Fixture, { owner }: Prover): Promise<void> {
  const { username } = await service.operator.db.read
    .selectFrom('owners')
    .select('username')
    .where('id', '=', owner.ownerId)
    .executeTakeFirstOrThrow()
  const answer = await owner.post('/api/account/deletion', { username })
  assert.equal(answer.status, 200, answer.text)
}

/** Everything in the database, as text. */
function dump({ settings }: TestService): Promise<string> {
  return withRaw(settings, async (raw) => {
    const tables = await raw.tables()
    const rows = await Promise.all(tables.map((name) => raw.all(`SELECT * FROM "${name}"`)))
    return JSON.stringify(rows.flat())
  })
}

test('deleting an account deletes its channels and every stored handle', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const revoked = await newAgentOf(fixture, prover.owner.ownerId, 'revoked before')
  const lines = [await prove(fixture, prover), await prove(fixture, revoked)]
  const renewed = await runAction(prover, await onlyChannel(fixture, prover), 'renew')
  const open = tokenIn(proofField(renewed, 'dns')('Value'))
  await addChannel(prover, 'domain', 'begun.example.net')
  const path = `/api/account/agents/${revoked.did}/revoke`
  assert.equal((await prover.owner.post(path, { reason: 'retired' })).status, 200)
  const traces = [
    ...lines.map(tokenIn),
    open,
    DOMAIN,
    'begun.example.net',
    '"channel_id"',
    'expire-channel',
  ]
  const before = await dump(fixture.service)
  for (const trace of traces) assert.ok(before.includes(trace), `${trace} is there before`)

  await deleteAccount(fixture, prover)

  const after = await dump(fixture.service)
  for (const trace of traces) assert.equal(after.includes(trace), false, `${trace} is left`)
  for (const { did } of [prover, revoked]) {
    const card = jsonOf<Card>(await ask(fixture.service, `/api/agents/${did}/card`))
    assert.deepEqual([card.channels, card.status], [[], 'revoked'])
    const { read } = fixture.service.operator.db
    const events = await read
      .selectFrom('events')
      .select(['type', 'payload'])
      .where('tail', '=', did.slice(-24))
      .where('type', 'like', 'channel.%')
      .orderBy('seq')
      .execute()
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [
        ['channel.verified', '{}'],
        ['channel.removed', '{}'],
      ],
      'the event itself stays',
    )
  }
})

test('deleting an account keeps channels and histories of other owners', async (t) => {
  const fixture = await startChannelFixture(t)
  const leaving = await newProver(fixture)
  await prove(fixture, leaving)
  const staying = await newProver(fixture)
  await prove(fixture, staying)
  await deleteAccount(fixture, leaving)
  assert.deepEqual(await publicView(fixture, staying), { grade: 'A', channels: [PLACE] })
  assert.equal((await onlyChannel(fixture, staying)).state, 'verified')
  const next = await newProver(fixture)
  await prove(fixture, next)
  assert.deepEqual(await publicView(fixture, next), { grade: 'A', channels: [PLACE] })
})

test('the export contains channels with dates and checks, but no tokens', async (t) => {
  const fixture = await startChannelFixture(t)
  const prover = await newProver(fixture)
  const stranger = await newProver(fixture)
  await addChannel(stranger, 'domain', 'stranger.example.net')
  const proven = tokenIn(await prove(fixture, prover))
  const renewed = await runAction(prover, await onlyChannel(fixture, prover), 'renew')
  const open = tokenIn(proofField(renewed, 'dns')('Value'))
  await check(prover, renewed)
  const shown = await onlyChannel(fixture, prover)

  const answer = await prover.owner.get('/api/account/export')

  const [agent] = jsonOf<AccountExport>(answer).agents
  const { label: _label, link: _link, proof, ...held } = shown
  assert.deepEqual(agent?.channels, [{ ...held, method: 'dns', tokenExpiresAt: proof?.expiresAt }])
  assert.equal(agent?.channels[0]?.checks.length, 2)
  for (const secret of [proven, open, 'stranger']) {
    assert.equal(answer.text.includes(secret), false, secret)
  }
})
