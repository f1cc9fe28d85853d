import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilTicked } from '../../../../test/support/until.ts'
import {
  addChannel,
  check,
  listChannels,
  NAME,
  newAgentOf,
  newProver,
  PLACE,
  proofField,
  prove,
  publicView,
  runAction,
  signInAgain,
  startChannelFixture,
} from './support/channel-fixture.ts'
import {
  advanceToNextCheck,
  channelHistory,
  DAY,
  onlyChannel,
  until,
} from './support/scheduled-checks.ts'

test('a domain that another owner proves is removed from the previous owner’s agent, with an event and a new grade', async (t) => {
  const fixture = await startChannelFixture(t)
  const before = await newProver(fixture)
  const after = await newProver(fixture)
  const line = await prove(fixture, before)
  assert.deepEqual(await publicView(fixture, before), { grade: 'A', channels: [PLACE] })

  const { read } = fixture.service.operator.db
  const waiting = () => read.selectFrom('log_queue').selectAll().execute()
  await untilTicked(fixture.service, async () => (await waiting()).length === 0)
  const theirs = await prove(fixture, after, line)

  // The times in the log do not tell whose proof ended whose: the loser's are spread, the winner's are not.
  const queued = (await waiting()).map(({ tail, type, entry, not_before: due }) => {
    return { tail, type, at: Math.max(due, JSON.parse(entry).at) }
  })
  const logged = (
    await read.selectFrom('log_entries').selectAll().orderBy('position').execute()
  ).map(({ tail, entry }) => ({ tail, type: JSON.parse(entry).type, at: JSON.parse(entry).at }))
  const changes = await read.selectFrom('events').select(['type', 'at']).orderBy('seq').execute()
  const provenAt = changes.findLast(({ type }) => type === 'channel.verified')?.at
  const isLater = ({ did }: { readonly did: string }) =>
    [...logged, ...queued]
      .filter(({ tail, type }) => did.endsWith(tail ?? '-') && type !== 'claimed')
      .slice(-2)
      .map(({ type, at }) => [type, at > (provenAt ?? 0)])
      .toSorted()
  assert.deepEqual(isLater(before), [
    ['channel_lost', true],
    ['grade', true],
  ])
  assert.deepEqual(isLater(after), [
    ['channel_verified', false],
    ['grade', false],
  ])
  assert.deepEqual(await listChannels(before), [])
  assert.deepEqual(await publicView(fixture, before), { grade: 'C', channels: [] })
  assert.deepEqual(await publicView(fixture, after), { grade: 'A', channels: [PLACE] })
  assert.deepEqual(await channelHistory(fixture, before), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
    `channel.removed ${PLACE} proven-by-another`,
    'agent.grade_changed A C',
  ])
  assert.deepEqual(await channelHistory(fixture, after), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
  ])
  const tables = ['channels', 'channel_leases', 'jobs'] as const
  for (const table of tables) {
    const rows = await read.selectFrom(table).selectAll().execute()
    assert.equal(rows.length, 1, `${table}: nothing of it is left`)
  }
  const checks = await read.selectFrom('channel_checks').select('channel_id').distinct().execute()
  assert.equal(checks.length, 1)

  // The record still has both lines, so the last proof decides who holds the domain.
  const back = await addChannel(before, 'domain')
  assert.equal((await check(before, back)).state, 'pending', 'the old line is void')
  fixture.txt(NAME, theirs, proofField(back, 'dns')('Value'))
  assert.equal((await check(before, back)).state, 'verified')
  assert.deepEqual(await listChannels(after), [])
})

test('one owner can prove a domain for several agents', async (t) => {
  const fixture = await startChannelFixture(t)
  const first = await newProver(fixture)
  const second = await newAgentOf(fixture, first.owner.ownerId, 'second')
  const line = await prove(fixture, first)
  const lines = [line, await prove(fixture, second, line)]
  for (const prover of [first, second]) {
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
  }
  await prove(fixture, await newProver(fixture), ...lines)
  for (const prover of [first, second]) {
    assert.deepEqual(await publicView(fixture, prover), { grade: 'C', channels: [] })
    assert.equal(
      (await channelHistory(fixture, prover)).at(-2),
      `channel.removed ${PLACE} proven-by-another`,
    )
  }
})

test('adding a channel, or finding a known proof again, removes nothing from others', async (t) => {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const holder = await newProver(fixture)
  const line = await prove(fixture, holder)
  const other = await newProver(fixture)
  const begun = await addChannel(other, 'domain')
  assert.equal((await check(other, begun)).outcome, 'absent')
  assert.equal((await onlyChannel(fixture, holder)).state, 'verified')

  fixture.txt(NAME, line, proofField(begun, 'dns')('Value'))
  await check(other, begun)
  assert.deepEqual(await listChannels(holder), [])
  const again = await addChannel(holder, 'domain')
  assert.equal((await advanceToNextCheck(fixture, other, clock, DAY)).state, 'verified')
  const { state } = await onlyChannel(fixture, holder)
  assert.equal(state, 'pending', 'the line of the old proof counts for nothing')
  assert.equal((await listChannels(await signInAgain(fixture, other)))[0]?.state, 'verified')
  assert.ok(again.proof)
})

test('a stale channel is removed too, so that a place has one owner', async (t) => {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const before = await newProver(fixture)
  await prove(fixture, before)
  fixture.dns[0]?.remove(NAME)
  for (let day = 1; day <= 4; day++) await advanceToNextCheck(fixture, before, clock, DAY)
  assert.equal((await onlyChannel(fixture, before)).state, 'stale')
  await prove(fixture, await newProver(fixture))
  assert.deepEqual(await listChannels(await signInAgain(fixture, before)), [])
  assert.deepEqual((await channelHistory(fixture, before)).slice(-3), [
    `channel.stale ${PLACE} not-found`,
    'agent.grade_changed A C',
    `channel.removed ${PLACE} proven-by-another`,
  ])
})

test('if two owners prove a place at the same time, exactly one has it in the end', async (t) => {
  const fixture = await startChannelFixture(t)
  const provers = await Promise.all([1, 2, 3, 4].map(() => newProver(fixture)))
  const channels = await Promise.all(provers.map((prover) => addChannel(prover, 'domain')))
  fixture.txt(NAME, ...channels.map((channel) => proofField(channel, 'dns')('Value')))

  await Promise.all(
    provers.map((prover, i) =>
      runAction(prover, channels[i] as (typeof channels)[number], 'check').catch(() => undefined),
    ),
  )

  const sides = await until(
    fixture,
    () => Promise.all(provers.map((prover) => publicView(fixture, prover))),
    (all) => all.filter(({ grade }) => grade === 'A').length === 1,
    'one has it',
  )
  const left = await Promise.all(provers.map(listChannels))
  assert.deepEqual(
    left.map((each) => each.map(({ state }) => state)),
    sides.map(({ grade }) => (grade === 'A' ? ['verified'] : [])),
  )
  const histories = await Promise.all(provers.map((prover) => channelHistory(fixture, prover)))
  for (const [i, history] of histories.entries()) {
    assert.deepEqual(
      history.filter((event) => event.startsWith('channel.')),
      [`channel.verified ${PLACE}`].concat(
        sides[i]?.grade === 'A' ? [] : [`channel.removed ${PLACE} proven-by-another`],
      ),
    )
  }
})
