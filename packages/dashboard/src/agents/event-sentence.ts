import type { AgentHistory } from '@countersign/protocol'
import { reasonInWords } from './reasons.ts'

type Event = AgentHistory['events'][number]
type Facts = Event['facts']

/** @returns how a kind of channel is called */
type LabelOf = (kind: string) => string

const SENTENCES: Readonly<Record<string, (facts: Facts, labelOf: LabelOf) => string | string[]>> = {
  'agent.claimed': () => 'An agent redeemed your claim token: the certificate was issued.',
  'agent.updated': updated,
  'agent.suspended': (facts) => `Suspended.${because(facts)}`,
  'agent.reactivated': (facts) => `Reactivated.${because(facts)}`,
  'agent.revoked': revoked,
  'agent.grade_changed': gradeChanged,
  'channel.verified': (facts, labelOf) => `${channel(facts, labelOf)} was proven.`,
  'channel.stale': (facts, labelOf) =>
    `${channel(facts, labelOf)} counts no more: ${STALE[String(facts.reason)] ?? 'it was not confirmed in time'}.`,
  'channel.removed': (facts, labelOf) =>
    `${channel(facts, labelOf)} was removed${REMOVED[String(facts.reason)] ?? ''}.`,
}

const STALE: Readonly<Record<string, string>> = {
  'not-found': 'what proved it was not found any more, for three days',
  expired: 'its time was over, and it was not proven anew',
}

const REMOVED: Readonly<Record<string, string>> = {
  owner: ' by you',
  'proven-by-another': ': another owner has proven that it is theirs',
}

/**
 * What happened, for whoever owns the agent.
 * @returns a sentence for each thing that changed
 */
export function eventSentences({ type, facts }: Event, labelOf: LabelOf): readonly string[] {
  return [SENTENCES[type]?.(facts, labelOf) ?? `Something else was recorded: ${type}.`].flat()
}

const PARTS = [
  ['displayName', 'The name', (value: string) => `“${value}”`],
  ['username', 'The username', (value: string) => `@${value}`],
  ['description', 'The description', (value: string) => `“${value}”`],
] as const

function updated(facts: Facts): string[] {
  const sentences = PARTS.flatMap(([key, what, show]) => {
    const value = facts[key]
    if (value === null) return [`${what} was taken away.`]
    return typeof value === 'string' ? [`${what} is now ${show(value)}`] : []
  })
  if (facts.avatar === null) sentences.push('The picture was taken away.')
  else if (facts.avatar !== undefined) sentences.push('The picture was changed.')
  return sentences.length > 0 ? sentences : ['What others see of it was changed.']
}

function revoked(facts: Facts): string {
  return `Revoked, for good.${because(facts)}`
}

function because({ reason }: Facts): string {
  return typeof reason === 'string' ? ` Reason: ${reasonInWords(reason)}.` : ''
}

function gradeChanged({ from, to }: Facts): string {
  if (typeof from === 'string' && typeof to === 'string') {
    return `The grade went from ${from} to ${to}.`
  }
  return 'The grade changed.'
}

function channel({ kind, handleOrDomain }: Facts, labelOf: LabelOf): string {
  const label = typeof kind === 'string' ? labelOf(kind) : 'A channel'
  return typeof handleOrDomain === 'string' ? `${label} ${handleOrDomain}` : label
}
