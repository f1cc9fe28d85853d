import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionState } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { insertProvenChannel } from '../../../../test/support/channel-rows.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import type { ChannelRow } from '../../src/database/database.ts'
import { DAY, HOUR } from './support/scheduled-checks.ts'

async function start(t: { after(end: () => unknown): void }) {
  const service = await startTestService(t)
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner.ownerId)
  const give = (handle: string, row: Partial<ChannelRow>, of = did) =>
    service.operator.db.write((tx) =>
      insertProvenChannel(tx, of.slice(-24), {
        kind: 'domain',
        handle_or_domain: handle,
        tier: 2,
        fresh_until: Date.now() + 90 * DAY,
        ...row,
      }),
    )
  const notes = async () => jsonOf<SessionState>(await owner.get('/api/session')).channelNotes
  return { service, owner, did, give, notes }
}

test('owners get notes on channels that need attention, the most urgent first', async (t) => {
  const { did, give, notes, owner } = await start(t)
  const now = Date.now()
  await give('well.example.net', {})
  await give('ends-in-15-days.example.net', { fresh_until: now + 15 * DAY })
  await give('ends-later.example.net', { fresh_until: now + 13 * DAY })
  await give('ends-soon.example.net', { fresh_until: now + 2 * DAY })
  await give('failing-late.example.net', { failures: 1, failing_since: now - HOUR, failed_at: now })
  await give('failing-long.example.net', { failures: 3, failing_since: now - 60 * HOUR })
  await give('stale-of-old.example.net', { stale_since: now - 9 * DAY })
  await give('stale-now.example.net', { stale_since: now - HOUR })
  await give('over.example.net', { fresh_until: now - 2 * HOUR })
  await give('pending.example.net', { verified_at: null, fresh_until: null })

  const told = await notes()

  const at = (time: number) => new Date(time).toISOString()
  assert.deepEqual(
    told.map(({ handleOrDomain, trouble, until }) => [handleOrDomain, trouble, until]),
    [
      ['stale-now.example.net', 'stale', null],
      ['over.example.net', 'stale', null],
      ['stale-of-old.example.net', 'stale', null],
      ['failing-long.example.net', 'failing', at(now + 12 * HOUR)],
      ['failing-late.example.net', 'failing', at(now + 71 * HOUR)],
      ['ends-soon.example.net', 'ending', at(now + 2 * DAY)],
      ['ends-later.example.net', 'ending', at(now + 13 * DAY)],
    ],
  )
  const tail = did.slice(-24)
  for (const note of told) {
    assert.deepEqual(
      [note.tail, note.displayName, note.label],
      [tail, `Agent ${tail.slice(0, 6)}`, 'Domain'],
    )
  }
  await owner.send('PATCH', `/api/account/agents/${did}`, { displayName: 'Desk' })
  assert.equal((await notes())[0]?.displayName, 'Desk')
})

test('owners get notes only on their own channels, and signed-out visitors get none', async (t) => {
  const { service, give } = await start(t)
  await give('stale.example.net', { stale_since: Date.now() })
  const other = await signIn(service, await service.operator.addVerifiedOwner())
  assert.deepEqual(jsonOf<SessionState>(await other.get('/api/session')).channelNotes, [])
  assert.deepEqual(jsonOf<SessionState>(await ask(service, '/api/session')).channelNotes, [])
})

test('notes include channels of suspended agents and leave out those of revoked agents', async (t) => {
  const { service, did, give, notes } = await start(t)
  await give('stale.example.net', { stale_since: Date.now() })
  await setStatus(service, did, 'suspended')
  assert.equal((await notes()).length, 1)
  await setStatus(service, did, 'revoked')
  assert.deepEqual(await notes(), [])
})

test('an owner gets at most twenty notes over all agents', async (t) => {
  const { service, owner, give, notes } = await start(t)
  const second = await claimAgent(service, owner.ownerId, newKey(), 'second')
  const now = Date.now()
  for (let i = 0; i < 15; i++) {
    await give(`ending-${i}.example.net`, { fresh_until: now + i * HOUR + HOUR })
    await give(`stale-${i}.example.net`, { stale_since: now - i * HOUR }, second)
  }
  const told = await notes()
  assert.deepEqual(
    told.map(({ handleOrDomain }) => handleOrDomain.split('.')[0]),
    [
      ...Array.from({ length: 15 }, (_each, i) => `stale-${i}`),
      ...Array.from({ length: 5 }, (_each, i) => `ending-${i}`),
    ],
  )
})
