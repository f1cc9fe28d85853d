import type { AgentStatus } from '@countersign/protocol'
import { CopyButton, StatusIcon } from '@countersign/ui'
import type { Check, CheckOutcome, CheckValue } from '../check-request/checks.ts'
import type { Inspection } from '../check-request/inspect-request.ts'
import { REASONS } from '../check-request/reasons.ts'
import { timeText } from '../check-request/request-form.ts'
import { Verdict } from './check-parts.tsx'

interface InspectionProps {
  readonly inspection: Inspection
}

const AGENT_SIGNED = 'The agent signed this request, and its certificate is active.'
const SAMPLE_SIGNED = 'The sample agent signed this request. It exists on this page alone.'
const DELEGATE_SIGNED =
  'A delegate signed this request for the agent, whose certificate is active. Your site refuses delegates unless its policy accepts them.'
const HOLDER_SIGNED =
  'The holder of the key signed this request. This service has not certified the signer.'

export function RequestVerdict({ inspection }: InspectionProps) {
  if (inspection.kind === 'fault') {
    return (
      <Verdict tone="plain" title="Cannot be checked">
        {inspection.fault.message}
      </Verdict>
    )
  }
  const { result, broken, isRedacted, isPinned, now, checks, source } = inspection
  const { reason, verdict, did, delegation } = result
  const at = isPinned ? ` That was the result at ${timeText(now)}.` : ''
  if (reason === null && broken.name !== null) {
    return (
      <Verdict tone="suspended" title="Still verified">
        The signature does not protect against this.{at}
      </Verdict>
    )
  }
  if (reason === null) {
    return (
      <Verdict tone="active" title="Verified">
        {did === null && HOLDER_SIGNED}
        {did !== null && delegation !== null && DELEGATE_SIGNED}
        {did !== null && delegation === null && (source?.isSample ? SAMPLE_SIGNED : AGENT_SIGNED)}
        {at}
      </Verdict>
    )
  }
  const words =
    checks.find(({ name }) => name === REASONS[reason].check)?.words ?? REASONS[reason].words
  return verdict === 'invalid' && !(isRedacted && reason === 'bad-signature') ? (
    <Verdict tone="revoked" title="Invalid">
      Refuse this request. {words}
      {at}
    </Verdict>
  ) : (
    <Verdict tone="suspended" title="Not verified">
      This request proves nothing. {words}
      {at}
    </Verdict>
  )
}

export function RequestChecks({ inspection }: InspectionProps) {
  if (inspection.kind === 'fault') return null
  const { checks, isLive } = inspection
  return (
    <ol className="divide-y divide-line rounded-lg border border-line bg-surface">
      {checks.map((check, index) => (
        <CheckRow key={check.name} check={check} number={index + 1} isLive={isLive} />
      ))}
    </ol>
  )
}

interface OutcomeStyle {
  readonly word: string
  readonly ink: string
  /** Null: a hollow circle. */
  readonly status: AgentStatus | null
}

const OUTCOMES: Readonly<Record<CheckOutcome, OutcomeStyle>> = {
  passed: { word: 'Passed', ink: 'text-good', status: 'active' },
  failed: { word: 'Failed', ink: 'text-bad', status: 'revoked' },
  undecided: { word: 'Undecided', ink: 'text-warn', status: 'suspended' },
  unchecked: { word: 'Not checked', ink: 'text-soft', status: null },
  'not-reached': { word: 'Not reached', ink: 'text-soft', status: null },
}

interface RowProps {
  readonly check: Check
  readonly number: number
  /** Whether the clock runs on. */
  readonly isLive: boolean
}

function CheckRow({ check, number, isLive }: RowProps) {
  const { name, title, outcome, words, values } = check
  const { word, ink, status } = OUTCOMES[outcome]
  return (
    <li
      id={`check-${name}`}
      data-outcome={outcome}
      className={`px-3 py-2.5 sm:px-4 ${outcome === 'failed' ? 'bg-bad-wash' : ''}`}
    >
      <div className="flex flex-wrap justify-between gap-x-3">
        <h3 className="flex min-w-0 gap-3 font-medium">
          {status === null ? (
            <Hollow />
          ) : (
            <StatusIcon status={status} className={`mt-1 size-5 shrink-0 ${ink}`} />
          )}
          <span className="min-w-0 wrap-anywhere hyphens-auto">
            {number}. {title}
          </span>
        </h3>
        <p className={`text-sm/7 font-medium ${ink}`}>{word}</p>
      </div>
      <div className="text-sm/6 wrap-anywhere sm:pl-8">
        {words !== '' && <p className="text-soft">{words}</p>}
        {values.map((value) => (
          <Value
            key={value.kind === 'times' ? 'times' : value.label}
            value={value}
            isLive={isLive}
          />
        ))}
      </div>
    </li>
  )
}

function Hollow() {
  return (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeDasharray="3 3"
      aria-hidden="true"
      className="mt-1 size-5 shrink-0 text-soft"
    >
      <circle cx="12" cy="12" r="10" />
    </svg>
  )
}

function Value({ value, isLive }: { readonly value: CheckValue; readonly isLive: boolean }) {
  switch (value.kind) {
    case 'times':
      return <Times value={value} isLive={isLive} />
    case 'block':
      return (
        <div className="mt-1">
          <div className="flex flex-wrap items-center justify-between gap-x-3">
            <p>{value.label}:</p>
            <CopyButton value={value.text} what={`the ${value.label.toLowerCase()}`} />
          </div>
          <pre className="mt-1 rounded-lg bg-sunken px-3 py-2 font-mono text-[0.8125rem]/5 break-all whitespace-pre-wrap">
            <code>{value.text}</code>
          </pre>
        </div>
      )
    case 'names':
      return (
        <p>
          {value.label}:
          {value.names.map((each, index) => [
            ' ',
            <code key={each} className="inline-block max-w-full font-mono text-[0.8125rem]">
              {each}
              {index < value.names.length - 1 && ','}
            </code>,
          ])}
        </p>
      )
    case 'link':
      return (
        <p>
          {value.label}:{' '}
          <a href={value.path} className="text-accent underline underline-offset-4">
            {value.text}
          </a>
        </p>
      )
    case 'hop':
      return <Hop value={value} />
    case 'code':
      return (
        <p>
          {value.label}: <code className="font-mono text-[0.8125rem] break-all">{value.text}</code>
        </p>
      )
  }
}

/** A delegation, with what it limits. */
function Hop({ value }: { readonly value: Extract<CheckValue, { kind: 'hop' }> }) {
  const { label, hop, now } = value
  const { keyid, issuedAt, expiresAt, maxDepth, limits } = hop
  const isToday = [issuedAt, expiresAt].every((each) => dayOf(each) === dayOf(now))
  const rows = [
    ['Sites', limits.origins],
    ['Methods', limits.methods],
    ['Paths', limits.paths],
    ['MCP calls', limits.mcp],
  ] as const
  return (
    <div className="mt-1 rounded-lg bg-sunken px-3 py-2">
      <p>
        {label}, to the key <code className="font-mono text-[0.8125rem] break-all">{keyid}</code>
      </p>
      <p>
        From {textOf(issuedAt, isToday)} until {textOf(expiresAt, isToday)} UTC. It allows{' '}
        {maxDepth === 0
          ? 'no further hop'
          : `${maxDepth} further ${maxDepth === 1 ? 'hop' : 'hops'}`}
        .
      </p>
      {rows.map(([title, values]) => (
        <p key={title}>
          {title}: {values === null && 'any'}
          {values?.map((each) => [
            <code key={each} className="mr-2 font-mono text-[0.8125rem] break-all">
              {each}
            </code>,
            ' ',
          ])}
        </p>
      ))}
    </div>
  )
}

interface TimesProps {
  readonly value: Extract<CheckValue, { kind: 'times' }>
  readonly isLive: boolean
}

/** A script moves the clock on, and checks again when the signature ends. */
function Times({ value: { created, expires, now }, isLive }: TimesProps) {
  const times = [created, expires].map((each) => (each === null ? null : each * 1000))
  const isToday = times.every((each) => each === null || dayOf(each) === dayOf(now))
  const [from, to] = times.map((each) => textOf(each ?? null, isToday))
  const end = times[1] ?? null
  return (
    <p>
      Created {from}, expires {to}, now{' '}
      <span
        data-clock={isLive ? now : undefined}
        data-end={end !== null && end >= now ? end : undefined}
      >
        {textOf(now, isToday)}
      </span>{' '}
      UTC
    </p>
  )
}

function dayOf(time: number): number {
  return Math.floor(time / 86_400_000)
}

/** The last moment of a `Date`. */
const LATEST = 8.64e15

/** @param time milliseconds since 1970; null if it is missing */
function textOf(time: number | null, isToday: boolean): string {
  if (time === null) return '(missing)'
  if (Math.abs(time) > LATEST) return String(time / 1000)
  const [day = '', clock = ''] = new Date(time).toISOString().slice(0, -5).split('T')
  return isToday ? clock : `${day} ${clock}`
}
