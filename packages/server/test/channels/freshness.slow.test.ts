import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import {
  addChannel,
  check,
  DOMAIN,
  type Fixture,
  listChannels,
  NAME,
  newProver,
  PLACE,
  type Prover,
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
  HOUR,
  MINUTE,
  notesOf,
  onlyChannel,
  until,
} from './support/scheduled-checks.ts'

interface Proven {
  readonly clock: { ahead: number }
  readonly fixture: Fixture
  readonly prover: Prover
  /** The TXT record that proved it. */
  readonly line: string
}

/** An agent that has just proven its domain. */
async function startProven(t: { after(end: () => unknown): void }): Promise<Proven> {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const prover = await newProver(fixture)
  return { clock, fixture, prover, line: await prove(fixture, prover) }
}

suite('daily checks', () => {
  test('find the proof without a request and write no event', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    const first = await onlyChannel(fixture, prover)
    for (let day = 1; day <= 3; day++) {
      const { state, checks, checkedAt, verifiedAt, nextCheckAt } = await advanceToNextCheck(
        fixture,
        prover,
        clock,
        DAY,
      )
      assert.deepEqual([state, verifiedAt], ['verified', first.verifiedAt])
      assert.equal(checks.length, day + 1)
      assert.equal(checks[0]?.outcome, 'proven')
      assert.equal(checkedAt, checks[0]?.at)
      const next = Date.parse(nextCheckAt as string) - Date.parse(checkedAt as string)
      assert.ok(next > 23 * HOUR && next <= DAY, `${next}`)
    }
    assert.deepEqual(await channelHistory(fixture, prover), [
      `channel.verified ${PLACE}`,
      'agent.grade_changed C A',
    ])
    assert.deepEqual(await notesOf(fixture, prover), [])
  })

  test('are seen with all that they change, or not at all', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    const channel = await onlyChannel(fixture, prover)
    for (let i = 0; i < 5; i++) {
      clock.ahead += MINUTE
      const late = await signInAgain(fixture, prover)
      let runs = true
      const checked = check(late, channel).finally(() => (runs = false))
      while (runs) {
        const reads = await Promise.all(Array.from({ length: 8 }, () => listChannels(late)))
        for (const { checkedAt, checks } of reads.flat()) assert.equal(checkedAt, checks[0]?.at)
      }
      await checked
    }
  })

  test('do not run before they are due', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    const asked = fixture.dns[0]?.asked(NAME)
    clock.ahead += 22 * HOUR
    // Another channel's due check shows that the service has looked for due checks.
    const other = await newProver(fixture)
    await addChannel(other, 'domain', 'other.example.net')
    await advanceToNextCheck(fixture, other, clock, 10 * MINUTE)
    assert.equal(fixture.dns[0]?.asked(NAME), asked)
    assert.equal((await onlyChannel(fixture, prover)).checks.length, 1)
  })

  test('change nothing if the DNS fails for longer than 72 hours', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    fixture.dns[0]?.fail('*', 'SERVFAIL')
    for (let day = 1; day <= 4; day++) {
      const { state, checks, failingSince, nextCheckAt } = await advanceToNextCheck(
        fixture,
        prover,
        clock,
        DAY,
      )
      assert.deepEqual([state, checks[0]?.outcome, failingSince], ['verified', 'unreachable', null])
      const next = Date.parse(nextCheckAt as string) - Date.parse(checks[0]?.at as string)
      assert.equal(next, HOUR, 'retried after an hour')
    }
    assert.deepEqual(await notesOf(fixture, prover), [])
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
    fixture.dns[0]?.fail('*', null)
    assert.equal(
      (await advanceToNextCheck(fixture, prover, clock, HOUR)).checks[0]?.outcome,
      'proven',
    )
  })

  test('make the channel stale if the proof is missing for 72 hours, with a note to the owner before and after', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    fixture.dns[0]?.remove(NAME)
    const first = await advanceToNextCheck(fixture, prover, clock, DAY)
    const since = Date.parse(first.checks[0]?.at as string)
    assert.equal(first.failingSince, first.checks[0]?.at)
    assert.deepEqual(
      (await notesOf(fixture, prover)).map(({ trouble, until: end, label, handleOrDomain }) => ({
        trouble,
        end,
        label,
        handleOrDomain,
      })),
      [
        {
          trouble: 'failing',
          end: new Date(since + 72 * HOUR).toISOString(),
          label: 'Domain',
          handleOrDomain: DOMAIN,
        },
      ],
    )
    for (let day = 2; day <= 3; day++) {
      const { state, failingSince } = await advanceToNextCheck(fixture, prover, clock, DAY)
      assert.deepEqual([state, failingSince], ['verified', first.failingSince])
    }
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })

    const last = await advanceToNextCheck(fixture, prover, clock, DAY)

    assert.deepEqual(
      [last.state, last.staleSince, last.nextCheckAt],
      ['stale', last.checks[0]?.at, null],
    )
    assert.ok(Date.parse(last.staleSince as string) - since >= 72 * HOUR)
    assert.deepEqual(await publicView(fixture, prover), { grade: 'C', channels: [] })
    assert.deepEqual(await channelHistory(fixture, prover), [
      `channel.verified ${PLACE}`,
      'agent.grade_changed C A',
      `channel.stale ${PLACE} not-found`,
      'agent.grade_changed A C',
    ])
    const notes = await notesOf(fixture, prover)
    assert.deepEqual(
      notes.map(({ trouble, until: end }) => [trouble, end]),
      [['stale', null]],
    )
  })

  test('reset the failures if the proof comes back in time', async (t) => {
    const { clock, fixture, prover, line } = await startProven(t)
    fixture.dns[0]?.remove(NAME)
    for (let day = 1; day <= 3; day++) await advanceToNextCheck(fixture, prover, clock, DAY)
    fixture.txt(NAME, line)
    const { state, failingSince } = await advanceToNextCheck(fixture, prover, clock, DAY)
    assert.deepEqual([state, failingSince], ['verified', null])
    assert.deepEqual(await notesOf(fixture, prover), [])
  })

  test('make the channel stale no sooner if the owner requests checks repeatedly', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    fixture.dns[0]?.remove(NAME)
    await advanceToNextCheck(fixture, prover, clock, DAY)
    const late = await signInAgain(fixture, prover)
    const channel = await onlyChannel(fixture, prover)
    for (let i = 0; i < 5; i++) {
      clock.ahead += MINUTE
      assert.deepEqual((await check(late, channel)).state, 'verified')
    }
    assert.equal((await onlyChannel(fixture, prover)).state, 'verified')
    await advanceToNextCheck(fixture, prover, clock, DAY)
    assert.equal((await onlyChannel(fixture, prover)).state, 'verified')
  })
})

suite('a stale channel', () => {
  test('is not checked, and only a fresh token verifies it again', async (t) => {
    const { clock, fixture, prover, line } = await startProven(t)
    fixture.dns[0]?.remove(NAME)
    for (let day = 1; day <= 4; day++) await advanceToNextCheck(fixture, prover, clock, DAY)
    fixture.txt(NAME, line)
    const asked = fixture.dns[0]?.asked(NAME)
    clock.ahead += 5 * DAY
    const late = await signInAgain(fixture, prover)
    const stale = await onlyChannel(fixture, prover)
    assert.equal(stale.state, 'stale')

    const path = `/api/account/agents/${late.did}/channels/${stale.id}/check`
    assertRefused(await late.owner.post(path), 400, 'VALIDATION_ERROR', /has no token/)
    assert.equal(fixture.dns[0]?.asked(NAME), asked, 'no check runs')

    const renewed = await runAction(late, stale, 'renew')
    const old = await check(late, renewed)
    assert.deepEqual([old.state, old.outcome], ['stale', 'proven'], 'the old token is there')
    assert.match(old.seen[0]?.detail ?? '', /^The new token: .*The token before it: .*holds/)
    fixture.txt(NAME, proofField(renewed, 'dns')('Value'))
    assert.equal((await check(late, renewed)).state, 'verified')
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
    assert.deepEqual((await channelHistory(fixture, prover)).slice(-2), [
      `channel.verified ${PLACE}`,
      'agent.grade_changed C A',
    ])
  })
})

suite('the expiry after 90 days', () => {
  test('happens on time even if the proof is still there, with a note to the owner two weeks before', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    clock.ahead += 75 * DAY
    assert.deepEqual(await notesOf(fixture, prover), [])
    clock.ahead += DAY
    const { freshUntil, state } = await until(
      fixture,
      () => onlyChannel(fixture, prover),
      ({ checks }) => checks[0]?.outcome === 'proven' && checks.length > 1,
      'the channel is checked',
    )
    assert.equal(state, 'verified')
    assert.deepEqual(
      (await notesOf(fixture, prover)).map(({ trouble, until: end }) => [trouble, end]),
      [['ending', freshUntil]],
    )
    clock.ahead = Date.parse(freshUntil as string) - Date.now() + 1

    const ended = await onlyChannel(fixture, prover)

    assert.deepEqual([ended.state, ended.staleSince], ['stale', freshUntil], 'at once')
    const history = await until(
      fixture,
      () => channelHistory(fixture, prover),
      (events) => events.length > 2,
      'the event is written',
    )
    assert.deepEqual(history.slice(2), [
      `channel.stale ${PLACE} expired`,
      'agent.grade_changed A C',
    ])
    assert.equal((await onlyChannel(fixture, prover)).nextCheckAt, null)
    assert.deepEqual(await publicView(fixture, prover), { grade: 'C', channels: [] })
    assert.deepEqual(
      (await notesOf(fixture, prover)).map(({ trouble }) => trouble),
      ['stale'],
    )
  })

  test('is extended by a fresh token, which a scheduled check finds', async (t) => {
    const { clock, fixture, prover } = await startProven(t)
    // The check that is due now must end first: it could otherwise end after the clock has moved past the token's first check.
    await advanceToNextCheck(fixture, prover, clock, 80 * DAY)
    const late = await signInAgain(fixture, prover)
    const renewed = await runAction(late, await onlyChannel(fixture, prover), 'renew')
    assert.equal(renewed.state, 'verified')
    fixture.txt(NAME, proofField(renewed, 'dns')('Value'))
    clock.ahead += 10 * MINUTE
    const again = await until(
      fixture,
      () => onlyChannel(fixture, prover),
      ({ proof }) => proof === null,
      'the fresh token is found',
    )
    const { verifiedAt, freshUntil } = again
    assert.equal(Date.parse(freshUntil as string) - Date.parse(verifiedAt as string), 90 * DAY)
    assert.equal((await advanceToNextCheck(fixture, prover, clock, 30 * DAY)).state, 'verified')
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
    assert.equal((await channelHistory(fixture, prover)).length, 3, 'verified twice, one new grade')
  })
})

suite('an open token', () => {
  test('is checked without a request until it expires, for owners who have closed the page', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    const wait = Date.parse(channel.nextCheckAt as string) - Date.parse(channel.createdAt)
    assert.equal(wait, 10 * MINUTE)
    const first = await advanceToNextCheck(fixture, prover, clock, 10 * MINUTE)
    assert.deepEqual([first.state, first.checks[0]?.outcome], ['pending', 'absent'])
    fixture.txt(NAME, proofField(channel, 'dns')('Value'))
    const second = await advanceToNextCheck(fixture, prover, clock, 50 * MINUTE)
    assert.equal(second.state, 'verified')
    assert.deepEqual(await publicView(fixture, prover), { grade: 'A', channels: [PLACE] })
  })

  test('is not checked after it has expired', async (t) => {
    const clock = { ahead: 0 }
    const fixture = await startChannelFixture(t, { clock })
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain')
    fixture.txt(NAME, proofField(channel, 'dns')('Value'))
    clock.ahead = 7 * DAY
    const over = await until(
      fixture,
      () => onlyChannel(fixture, prover),
      ({ nextCheckAt }) => nextCheckAt === null,
      'no check is scheduled',
    )
    assert.deepEqual([over.state, over.proof, over.checks], ['pending', null, []])
    assert.equal(fixture.dns[0]?.asked(NAME), 0)
  })

  test('is checked beside the token that proved the channel: each query is sent once, and the owner sees both results', async (t) => {
    const { fixture, prover, line } = await startProven(t)
    const renewed = await runAction(prover, await onlyChannel(fixture, prover), 'renew')
    const asked = fixture.dns[0]?.asked(NAME, 'TXT') as number
    const requests = fixture.site.requests.length

    const { state, outcome, seen } = await check(prover, renewed)

    assert.deepEqual([state, outcome], ['verified', 'proven'])
    assert.equal(seen.length, 1)
    assert.match(
      seen[0]?.detail ?? '',
      /^The new token: .* The token before it: A TXT record at .* holds the token of this channel\.$/,
    )
    assert.equal(fixture.dns[0]?.asked(NAME, 'TXT'), asked + 1)
    assert.equal(fixture.site.requests.length, requests + 1, 'the file, for the new token alone')
    assert.equal((await onlyChannel(fixture, prover)).proof?.methods.length, 2, 'it is still open')

    fixture.txt(NAME, line, proofField(renewed, 'dns')('Value'))
    const proven = await check(prover, renewed)
    assert.deepEqual([proven.state, proven.channel.proof], ['verified', null])
    fixture.txt(NAME, proofField(renewed, 'dns')('Value'))
    assert.equal(
      (await check(prover, renewed)).outcome,
      'proven',
      'the new token replaced the old one',
    )
    fixture.txt(NAME, line)
    assert.equal(
      (await check(prover, renewed)).outcome,
      'absent',
      'the old token no longer proves anything',
    )
  })
})
