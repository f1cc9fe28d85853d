import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelHistory, DAY, onlyChannel, passTime, until } from './support/days.ts'
import {
  act,
  begin,
  check,
  DOMAIN,
  type Ground,
  listChannels,
  newAgentOf,
  newProver,
  type Prover,
  publicSide,
  signInAgain,
  startGround,
  toPlace,
} from './support/proving.ts'

const NAME = `_svc-challenge.${DOMAIN}`
const PLACE = `domain ${DOMAIN}`

/** Lets an agent prove the domain beside whatever else stands in the record. @returns the line that proves it */
async function prove(ground: Ground, prover: Prover, ...others: string[]): Promise<string> {
  const channel = await begin(prover, 'domain')
  const line = toPlace(channel, 'dns')('Value')
  ground.txt(NAME, ...others, line)
  assert.equal((await check(prover, channel)).state, 'verified')
  return line
}

test('a domain that another owner proves is taken from the one before, with an event and a grade', async (t) => {
  const ground = await startGround(t)
  const before = await newProver(ground)
  const after = await newProver(ground)
  const line = await prove(ground, before)
  assert.deepEqual(await publicSide(ground, before), { grade: 'A', channels: [PLACE] })

  const theirs = await prove(ground, after, line)

  assert.deepEqual(await listChannels(before), [])
  assert.deepEqual(await publicSide(ground, before), { grade: 'C', channels: [] })
  assert.deepEqual(await publicSide(ground, after), { grade: 'A', channels: [PLACE] })
  assert.deepEqual(await channelHistory(ground, before), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
    `channel.removed ${PLACE} proven-by-another`,
    'agent.grade_changed A C',
  ])
  assert.deepEqual(await channelHistory(ground, after), [
    `channel.verified ${PLACE}`,
    'agent.grade_changed C A',
  ])
  const { read } = ground.service.operator.db
  const tables = ['channels', 'channel_leases', 'jobs'] as const
  for (const table of tables) {
    const rows = await read.selectFrom(table).selectAll().execute()
    assert.equal(rows.length, 1, `${table}: nothing of it is left`)
  }
  const checks = await read.selectFrom('channel_checks').select('channel_id').distinct().execute()
  assert.equal(checks.length, 1)

  // The record still holds both lines: whoever proves it anew has it.
  const back = await begin(before, 'domain')
  assert.equal((await check(before, back)).state, 'pending', 'the old line is void')
  ground.txt(NAME, theirs, toPlace(back, 'dns')('Value'))
  assert.equal((await check(before, back)).state, 'verified')
  assert.deepEqual(await listChannels(after), [])
})

test('one owner proves a domain for several agents, and none loses it', async (t) => {
  const ground = await startGround(t)
  const first = await newProver(ground)
  const second = await newAgentOf(ground, first.owner.ownerId, 'second')
  const line = await prove(ground, first)
  const lines = [line, await prove(ground, second, line)]
  for (const prover of [first, second]) {
    assert.deepEqual(await publicSide(ground, prover), { grade: 'A', channels: [PLACE] })
  }
  await prove(ground, await newProver(ground), ...lines)
  for (const prover of [first, second]) {
    assert.deepEqual(await publicSide(ground, prover), { grade: 'C', channels: [] })
    assert.equal(
      (await channelHistory(ground, prover)).at(-2),
      `channel.removed ${PLACE} proven-by-another`,
    )
  }
})

test('what is only begun, or only seen again, takes nothing from anyone', async (t) => {
  const clock = { ahead: 0 }
  const ground = await startGround(t, { clock })
  const holder = await newProver(ground)
  const line = await prove(ground, holder)
  const other = await newProver(ground)
  const begun = await begin(other, 'domain')
  assert.equal((await check(other, begun)).outcome, 'absent')
  assert.equal((await onlyChannel(ground, holder)).state, 'verified')

  ground.txt(NAME, line, toPlace(begun, 'dns')('Value'))
  await check(other, begun)
  assert.deepEqual(await listChannels(holder), [])
  const again = await begin(holder, 'domain')
  assert.equal((await passTime(ground, other, clock, DAY)).state, 'verified')
  const { state } = await onlyChannel(ground, holder)
  assert.equal(state, 'pending', 'the line of the old proof counts for nothing')
  assert.equal((await listChannels(await signInAgain(ground, other)))[0]?.state, 'verified')
  assert.ok(again.proof)
})

test('a stale channel is taken too, so that its place has one owner', async (t) => {
  const clock = { ahead: 0 }
  const ground = await startGround(t, { clock })
  const before = await newProver(ground)
  await prove(ground, before)
  ground.dns[0]?.remove(NAME)
  for (let day = 1; day <= 4; day++) await passTime(ground, before, clock, DAY)
  assert.equal((await onlyChannel(ground, before)).state, 'stale')
  await prove(ground, await newProver(ground))
  assert.deepEqual(await listChannels(await signInAgain(ground, before)), [])
  assert.deepEqual((await channelHistory(ground, before)).slice(-3), [
    `channel.stale ${PLACE} not-found`,
    'agent.grade_changed A C',
    `channel.removed ${PLACE} proven-by-another`,
  ])
})

test('of owners who prove a place at the same moment, one has it in the end', async (t) => {
  const ground = await startGround(t)
  const provers = await Promise.all([1, 2, 3, 4].map(() => newProver(ground)))
  const channels = await Promise.all(provers.map((prover) => begin(prover, 'domain')))
  ground.txt(NAME, ...channels.map((channel) => toPlace(channel, 'dns')('Value')))

  await Promise.all(
    provers.map((prover, i) =>
      act(prover, channels[i] as (typeof channels)[number], 'check').catch(() => undefined),
    ),
  )

  const sides = await until(
    ground,
    () => Promise.all(provers.map((prover) => publicSide(ground, prover))),
    (all) => all.filter(({ grade }) => grade === 'A').length === 1,
    'one has it',
  )
  const left = await Promise.all(provers.map(listChannels))
  assert.deepEqual(
    left.map((each) => each.map(({ state }) => state)),
    sides.map(({ grade }) => (grade === 'A' ? ['verified'] : [])),
  )
  const histories = await Promise.all(provers.map((prover) => channelHistory(ground, prover)))
  for (const [i, history] of histories.entries()) {
    assert.deepEqual(
      history.filter((event) => event.startsWith('channel.')),
      [`channel.verified ${PLACE}`].concat(
        sides[i]?.grade === 'A' ? [] : [`channel.removed ${PLACE} proven-by-another`],
      ),
    )
  }
})
