import type { AgentHistory } from '@countersign/protocol'
import { reasonInWords } from './reasons.ts'

type Event = AgentHistory['events'][number]
type Facts = Event['facts']

const SENTENCES: Readonly<Record<string, (facts: Facts) => string | string[]>> = {
  'agent.claimed': () => 'An agent redeemed your claim token: the certificate was issued.',
  'agent.updated': updated,
  'agent.suspended': (facts) => `Suspended.${because(facts)}`,
  'agent.reactivated': (facts) => `Reactivated.${because(facts)}`,
  'agent.revoked': revoked,
  'agent.grade_changed': gradeChanged,
  'channel.verified': (facts) => `${channel(facts)} was verified.`,
  'channel.stale': (facts) =>
    `${channel(facts)} has not been confirmed in time and counts no more.`,
  'channel.removed': (facts) => `${channel(facts)} was removed.`,
}

/** @returns what happened, for whoever owns the agent: a sentence for each thing that changed */
export function eventSentences({ type, facts }: Event): readonly string[] {
  return [SENTENCES[type]?.(facts) ?? `Something else was recorded: ${type}.`].flat()
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

function channel({ kind, handleOrDomain }: Facts): string {
  const named = [kind, handleOrDomain].filter((each) => typeof each === 'string')
  return named.length === 0 ? 'A channel' : `The channel ${named.join(' ')}`
}
