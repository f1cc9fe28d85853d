import type { Decision } from '@countersign/gateway/internal'
import type { AgentStatus } from '@countersign/protocol'
import { StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'
import { REASONS } from '../check-request/reasons.ts'
import type { ConsoleForm } from '../console/console-form.ts'
import type { CallerName, CallerOutcome, ConsoleResult } from '../console/simulate.ts'
import type { Decided } from '../console/simulated-gate.ts'

interface CallersProps {
  readonly result: ConsoleResult | null
  readonly form: ConsoleForm
}

/** What happens to each kind of caller, with the reasons. */
export function ConsoleCallers({ result, form }: CallersProps) {
  return (
    <div id="callers" data-part data-empty={result === null || undefined}>
      {result === null ? (
        <p className="rounded-lg bg-sunken px-4 py-3">
          Correct the policy to see what happens to each caller.
        </p>
      ) : (
        <ul
          aria-label="What happens to each caller"
          className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-surface"
        >
          {result.callers.map((outcome) => (
            <Caller key={outcome.name} outcome={outcome} form={form} />
          ))}
        </ul>
      )}
    </div>
  )
}

const CALLERS: Readonly<Record<CallerName, readonly [title: string, description: string]>> = {
  agent: ['Your agent', 'signs the request'],
  stranger: ['Stranger', 'no identification'],
  header: ['Header only', 'names an agent without proof'],
  signed: ['Signed', 'verified owner'],
  unverified: ['Signed', 'unverified owner'],
  suspended: ['Signed', 'suspended agent'],
  delegated: ['Delegated', 'key of a worker, verified owner'],
  replay: ['Replay', 'a signed request, sent again'],
  directory: ['Signed', 'key of the first trusted directory'],
  pasted: ['Captured request', 'the headers below'],
}

interface CallerProps {
  readonly outcome: CallerOutcome
  readonly form: ConsoleForm
}

function Caller({ outcome: { name, decided }, form }: CallerProps) {
  const [title, description] = CALLERS[name]
  const outcomes = distinct(decided, ({ decision }) => decision)
  const reasons = new Set(outcomes.map(({ decision }) => whyOf(decision)))
  const cases = distinct(decided, ({ decision, route }) => ({ ...decision, route }))
  return (
    <li>
      <details id={`caller-${name}`} className="group">
        <summary className="flex cursor-pointer list-none flex-wrap items-start gap-x-4 gap-y-2 px-4 py-2.5 hover:bg-sunken">
          <span className="min-w-0 flex-1 basis-56 wrap-anywhere">
            <span className="font-medium">{title}</span>
            <span className="ml-2 text-soft">{description}</span>
            {[...reasons].map((reason) => (
              <span key={reason} className="block text-sm/5 text-soft">
                {reason}
              </span>
            ))}
          </span>
          <span className="flex flex-wrap items-center gap-2">
            {outcomes.map(({ request: { method }, decision }) => (
              <Pill key={method} decision={decision} method={outcomes.length > 1 ? method : null} />
            ))}
            <svg
              viewBox="0 0 20 20"
              fill="none"
              stroke="currentColor"
              strokeWidth="1.8"
              aria-hidden="true"
              className="size-4 text-soft group-open:rotate-180"
            >
              <path d="m5 7.5 5 5 5-5" />
            </svg>
          </span>
        </summary>
        <div className="space-y-4 border-t border-line bg-paper px-4 py-3">
          {cases.map((each) => (
            <Details key={each.request.method} decided={each} />
          ))}
          {name === 'pasted' && (
            <p className="text-sm/6 text-soft">
              The console has no body to compare, does not know which nonces your site has seen, and
              fetches no directories.
            </p>
          )}
          {form.away !== '' && (
            <p className="text-sm/6 text-soft">
              The gateway had an answer about the agent before the service became unreachable.
            </p>
          )}
        </div>
      </details>
    </li>
  )
}

/** Requests that are decided alike are shown once. */
function distinct(
  decided: readonly Decided[],
  by: (each: Decided) => Partial<Decision & Decided>,
): readonly Decided[] {
  const keys = decided.map((each) => {
    const { action, reasons, refusal, route } = by(each)
    return JSON.stringify([action, reasons, refusal, route])
  })
  return decided.filter((_, i) => keys.indexOf(keys[i] ?? '') === i)
}

/** The reason that decided, and why a signature does not count. */
function whyOf(decision: Decision): string {
  const { reasons, signature } = decision
  // The last reason is about the proof.
  const { message } = reasons[isUnproven(decision) ? reasons.length - 1 : 0] ?? reasons[0]
  const fault = signature?.reason ?? null
  const isExplained = fault === null || fault === 'not-admitted'
  return isExplained ? message : `${message} ${REASONS[fault].words}`
}

function isUnproven({ action, did, proofOfPossession }: Decision): boolean {
  return action !== 'deny' && did !== null && !proofOfPossession
}

interface PillProps {
  readonly decision: Decision
  /** Null: the decision is the same for all. */
  readonly method: string | null
}

const PILLS: Readonly<Record<AgentStatus, string>> = {
  active: 'bg-good-wash text-good',
  suspended: 'bg-warn-wash text-warn',
  revoked: 'bg-bad-wash text-bad',
}

/** A shape, a colour and words. */
function Pill({ decision, method }: PillProps) {
  const [tone, words] = outcomeOf(decision)
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-3 py-1 text-sm/5 font-semibold ${PILLS[tone]}`}
    >
      <StatusIcon status={tone} className="size-4 shrink-0" />
      {method === null ? words : `${method} ${words.toLowerCase()}`}
    </span>
  )
}

/** Green: admitted as who it is. Amber: admitted with a restriction, without proof, or only because nothing is refused. Red: refused. */
function outcomeOf(decision: Decision): [tone: AgentStatus, words: string] {
  const { action, mode, refusal } = decision
  if (action === 'deny') {
    const words = `${mode === 'shadow' ? 'Would refuse' : 'Refused'}, ${refusal?.status}`
    return [mode === 'shadow' ? 'suspended' : 'revoked', words]
  }
  if (action === 'flag') return ['suspended', 'Allowed, flagged']
  if (isUnproven(decision)) return ['suspended', 'Allowed, unproven']
  if (action === 'limit') return ['suspended', 'Rate limited']
  return ['active', 'Allowed']
}

function Details({ decided }: { readonly decided: Decided }) {
  const { request, route, decision, denial, forwarded } = decided
  return (
    <dl className="space-y-2 text-sm/6">
      <Row name="Request">
        <Code>
          {request.method} {request.url}
        </Code>
      </Row>
      <Row name="Rules">{rulesWords(route)}</Row>
      <Row name="Reasons">
        <ul>
          {decision.reasons.map(({ code, message }) => (
            <li key={code}>
              {message} <span className="text-soft">({code})</span>
            </li>
          ))}
          {decision.signature?.reason != null && (
            <li>
              The signature does not count: <Code>{decision.signature.reason}</Code>.
            </li>
          )}
        </ul>
      </Row>
      {decision.did !== null && (
        <Row name="Agent">
          <Code>{decision.did}</Code>
        </Row>
      )}
      {denial === null ? (
        <Row name="Headers that your site receives">
          <Lines headers={forwarded} />
        </Row>
      ) : (
        <Row name="Response to the caller">
          <Lines headers={[['status', String(denial.status)], ...denial.headers]} />
        </Row>
      )}
    </dl>
  )
}

function rulesWords(route: Decided['route']): string {
  if (route === 'all') {
    return 'The strictest of all: servers may read this path or method in different ways.'
  }
  return route === null ? 'Those of the policy' : `routes[${route}]`
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-x-5 sm:grid-cols-[8rem_minmax(0,1fr)]">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  )
}

function Lines({ headers }: { readonly headers: readonly (readonly [string, string])[] }) {
  return headers.map(([name, value]) => (
    <code key={name} className="block font-mono text-[0.8125rem]/6 wrap-anywhere">
      {name}: {value}
    </code>
  ))
}

function Code({ children }: { readonly children: ReactNode }) {
  return <code className="font-mono text-[0.8125rem] wrap-anywhere">{children}</code>
}
