import assert from 'node:assert/strict'
import type { AgentHistory, OwnerChannel, SessionState } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { type Fixture, listChannels, type Prover, signInAgain } from './channel-fixture.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Runs the service's timers until a value satisfies a condition. */
export async function until<T>(
  { service }: Fixture,
  look: () => Promise<T>,
  holds: (value: T) => boolean,
  what: string,
): Promise<T> {
  let value = await look()
  await untilTicked(service, async () => {
    value = await look()
    return holds(value)
  }).catch(() => assert.fail(`${what}: ${JSON.stringify(value)}`))
  return value
}

/** The only channel of an agent. Signs the owner in again, because sessions expire while the clock moves. */
export async function onlyChannel(fixture: Fixture, prover: Prover): Promise<OwnerChannel> {
  const [channel, ...more] = await listChannels(await signInAgain(fixture, prover))
  assert.ok(channel !== undefined && more.length === 0)
  return channel
}

/** Moves the clock and waits for the scheduled check of the agent's only channel. */
export async function advanceToNextCheck(
  fixture: Fixture,
  prover: Prover,
  clock: { ahead: number },
  milliseconds: number,
): Promise<OwnerChannel> {
  const before = (await onlyChannel(fixture, prover)).checks[0]?.at
  clock.ahead += milliseconds
  return until(
    fixture,
    () => onlyChannel(fixture, prover),
    ({ checks }) => checks[0] !== undefined && checks[0].at !== before,
    'the scheduled check has run',
  )
}

/** The events of an agent's channels and grade, oldest first. */
export async function channelHistory(fixture: Fixture, prover: Prover): Promise<string[]> {
  const { owner, did } = await signInAgain(fixture, prover)
  const answer = await owner.get(`/api/account/agents/${did}/history`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<AgentHistory>(answer)
    .events.filter(({ type }) => type.startsWith('channel.') || type === 'agent.grade_changed')
    .map(({ type, facts }) => [type, ...Object.values(facts)].join(' '))
    .reverse()
}

export async function notesOf(
  fixture: Fixture,
  prover: Prover,
): Promise<SessionState['channelNotes']> {
  const { owner } = await signInAgain(fixture, prover)
  return jsonOf<SessionState>(await owner.get('/api/session')).channelNotes
}
