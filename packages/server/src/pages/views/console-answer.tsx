import type { Decision, Policy } from '@countersign/gateway/internal'
import { Command } from '@countersign/ui'
import { Fragment, type ReactNode } from 'react'
import type { Target } from '../console/configuration.ts'
import type { SortedMistakes } from '../console/field-mistakes.ts'
import type { ConsoleAnswer, Simulated, Simulation } from '../console/simulate.ts'
import { Note, Verdict, type VerdictProps } from './check-parts.tsx'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

interface AnswerProps {
  readonly answer: ConsoleAnswer
  /** As `npm install` takes it. */
  readonly gatewayPackage: string
}

/** The decision and the configuration, or what is wrong with the policy. */
export function ConsoleAnswerView({ answer, gatewayPackage }: AnswerProps) {
  if (answer.kind === 'invalid') return <MistakesView mistakes={answer.mistakes} />
  const { configurations, simulation, policy, link } = answer
  return (
    <div className="space-y-12">
      <div className="space-y-6">
        <SimulationView simulation={simulation} policy={policy} />
        <LinkView link={link} simulation={simulation} />
      </div>
      <Part title="Configuration">
        <p>Only settings that differ from the defaults are listed. Install the gateway first:</p>
        <Command value={`npm install ${gatewayPackage}`} what="the command" />
        {CODE_TARGETS.map(([target, title, file], index) => (
          <Choice key={target} title={title} open={index === 0}>
            <CodeText text={configurations[target]} file={file} />
          </Choice>
        ))}
        <Choice title="nginx, Caddy, Traefik, HAProxy, Envoy" open={false}>
          <p>
            Save this as <Code>gateway.json</Code>:
          </p>
          <CodeText text={configurations.proxy} file="gateway.json" />
          <p>Start the gateway, and add the file for your proxy:</p>
          <Command value="npx countersign-gateway --config gateway.json" what="the command" />
          <ul className="space-y-3">
            {PROXIES.map(([page, name, files]) => (
              <li key={name}>
                <a href={`/docs/gateways-${page}#configuration`} className={LINK}>
                  {name}
                </a>
                {': '}
                {files.map((file, index) => (
                  <Fragment key={file}>
                    {index > 0 && ', '}
                    <a href={`/docs/deploy/${page}/${file}`} download={file} className={LINK}>
                      <Code>{file}</Code>
                    </a>
                  </Fragment>
                ))}
              </li>
            ))}
          </ul>
        </Choice>
      </Part>
    </div>
  )
}

const CODE_TARGETS: readonly (readonly [target: Target, title: string, file: string])[] = [
  ['express', 'Express', 'express.mjs'],
  ['fastify', 'Fastify', 'fastify.mjs'],
  ['hono', 'Hono', 'hono.mjs'],
  ['fetch', 'fetch handlers and Workers', 'worker.mjs'],
]

const PROXIES = [
  ['nginx', 'nginx', ['countersign.conf']],
  ['caddy', 'Caddy', ['Caddyfile']],
  ['traefik', 'Traefik', ['countersign.yml']],
  ['haproxy', 'HAProxy', ['haproxy.cfg', 'countersign.lua']],
  ['envoy', 'Envoy', ['envoy.yaml']],
] as const

/** What is wrong with a policy, with links to the fields. */
function MistakesView({ mistakes: { fields, others } }: { readonly mistakes: SortedMistakes }) {
  return (
    <Verdict tone="plain" title="The policy is not valid">
      <span className="block">Correct these fields, and decide again:</span>
      {[...fields].map(([name, sentences]) => (
        <span key={name} className="block">
          <a href={`#${name}`} className={LINK}>
            {placeWords(name)}
          </a>
          : {sentences.join(' ')}
        </span>
      ))}
      {others.map((each) => (
        <span key={each} className="block">
          {each}
        </span>
      ))}
    </Verdict>
  )
}

/** `Route 1, path` for `routes.0.path`. */
function placeWords(name: string): string {
  const [, list, index, field] = /^(routes|directories)\.(\d+)\.(.*)$/.exec(name) ?? []
  if (list === undefined) return name
  return `${list === 'routes' ? 'Route' : 'Directory'} ${Number(index) + 1}, ${field}`
}

interface LinkViewProps {
  readonly link: string | null
  readonly simulation: Simulation
}

/** The address of this state. Captured requests are left out, because they may contain secrets. */
function LinkView({ link, simulation }: LinkViewProps) {
  if (link === null) {
    return <p className="text-sm/6 text-soft">This policy is too long for a link.</p>
  }
  const isWhole = simulation.kind === 'decided' && simulation.caller !== 'pasted'
  return (
    <p className="text-sm/6">
      <a href={link} className={LINK}>
        {isWhole ? 'Link to this policy and request' : 'Link to this policy'}
      </a>
      <span className="text-soft">
        {isWhole ? ' (without the query of the URL)' : ' (without the request)'}
      </span>
    </p>
  )
}

interface SimulationProps {
  readonly simulation: Simulation
  readonly policy: Policy
}

function SimulationView({ simulation, policy }: SimulationProps) {
  if (simulation.kind !== 'decided') {
    return (
      <Verdict tone="plain" title="No decision">
        {faultWords(simulation)}
      </Verdict>
    )
  }
  const { decision, denial, forwarded, request, caller, agent } = simulation
  return (
    <>
      <Verdict {...outcomeOf(decision, policy.limit)} />
      <dl className="divide-y divide-line rounded-lg border border-line bg-surface">
        <Row name="Request">
          <Code>
            {request.method} {request.url}
          </Code>
        </Row>
        {policy.routes.length > 0 && <Row name="Rules">{rulesWords(policy, simulation.route)}</Row>}
        <Row name="Reasons">
          <ul className="space-y-1">
            {decision.reasons.map(({ code, message }) => (
              <li key={code}>
                {message} <span className="text-sm text-soft">({code})</span>
              </li>
            ))}
          </ul>
        </Row>
        <Row name="Proof">
          {decision.directory === null
            ? PROOF_WORDS[decision.proof]
            : 'The signature of the request, by a key of the directory. The caller is no agent.'}
          {decision.signature?.reason != null && (
            <span className="block">
              The signature does not count: <Code>{decision.signature.reason}</Code>.
            </span>
          )}
        </Row>
        {decision.did !== null && (
          <Row name="Agent">
            {agent?.isSample === true ? (
              SAMPLE_AGENT
            ) : decision.status === null ? (
              decision.did
            ) : (
              <a href={`/agent/${decision.did}`} className={LINK}>
                {decision.did}
              </a>
            )}
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
      {caller === 'pasted' && (
        <Note>
          The console has no body to compare, does not know which nonces your site has seen, and
          fetches no directories.
        </Note>
      )}
      {(caller === 'signature' || caller === 'directory') && (
        <p className="text-sm/6 text-soft">
          The console signed this request with a temporary key in place of the caller’s own.
        </p>
      )}
      {caller === 'session' && (
        <p className="text-sm/6 text-soft">
          Sessions need a{' '}
          <a href="/docs/gateways#let-agents-sign-in" className={LINK}>
            sign-in endpoint
          </a>
          , which the configuration below does not set up.
        </p>
      )}
    </>
  )
}

function outcomeOf(
  { action, admitted, refusal, mode }: Decision,
  { requests, seconds }: Policy['limit'],
): VerdictProps {
  const limit = `Up to ${requests} requests in ${seconds} seconds for each caller.`
  if (mode === 'shadow') {
    const would = action === 'deny' ? `refuse it with status ${refusal?.status}` : 'admit it'
    return {
      tone: action === 'deny' ? 'suspended' : 'active',
      title: 'Admitted: shadow mode',
      children: `In enforce mode, the gateway would ${would}.${action === 'limit' ? ` ${limit}` : ''}`,
    }
  }
  if (!admitted) {
    return {
      tone: 'revoked',
      title: 'Refused',
      children: `The caller gets status ${refusal?.status}. Your site does not see the request.`,
    }
  }
  if (action === 'flag') {
    return { tone: 'suspended', title: 'Allowed and flagged', children: FLAGGED }
  }
  if (action === 'limit') {
    return { tone: 'suspended', title: 'Allowed within the rate limit', children: limit }
  }
  return { tone: 'active', title: 'Allowed', children: 'The request reaches your site.' }
}

const SAMPLE_AGENT =
  'The sample agent, which does not exist: its certificate is active, and its owner is verified.'

function rulesWords({ routes }: Policy, route: Simulated['route']): string {
  if (route === 'all') {
    return 'The strictest of all: servers may read this path or method in different ways.'
  }
  const found = route === null ? undefined : routes[route]
  return route === null || found === undefined
    ? 'Those of the policy. No route matches.'
    : `Route ${route + 1}: ${found.methods?.join(', ') ?? 'every method'} ${found.path}`
}

const FLAGGED = 'The request reaches your site, marked as not checked.'

const PROOF_WORDS: Readonly<Record<Decision['proof'], string>> = {
  none: 'None. The caller did not prove that it holds the key of an agent.',
  session: 'The session of your site.',
  signature: 'The signature of the request.',
}

function faultWords(fault: Exclude<Simulation, { kind: 'decided' }>): string {
  switch (fault.kind) {
    case 'malformed':
      return fault.message
    case 'elsewhere':
      return `This agent belongs to ${fault.host}. A gateway asks one service alone.`
    case 'token':
      return 'That is a claim token. It is a secret: never share it. Enter the DID of an agent.'
    case 'unreadable':
      return 'Enter the username or the DID of an agent.'
    case 'unknown-name':
      return 'No agent has this name or key. Check the spelling, or enter a DID.'
  }
}

interface PartProps {
  readonly title: string
  readonly children: ReactNode
}

function Part({ title, children }: PartProps) {
  return (
    <section aria-label={title} className="space-y-4">
      <h2 className="text-2xl/8 font-semibold tracking-tight">{title}</h2>
      {children}
    </section>
  )
}

function Choice({ title, open, children }: PartProps & { readonly open: boolean }) {
  return (
    <details name="target" open={open} className="rounded-lg border border-line bg-surface">
      <summary className="cursor-pointer px-4 py-3 font-medium hover:text-accent">{title}</summary>
      <div className="space-y-4 px-4 pb-4">{children}</div>
    </details>
  )
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-x-5 gap-y-1 px-4 py-3 sm:grid-cols-[11rem_minmax(0,1fr)]">
      <dt className="text-soft">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  )
}

function Lines({ headers }: { readonly headers: readonly (readonly [string, string])[] }) {
  return headers.map(([name, value]) => (
    <code key={name} className="block font-mono text-sm/6 wrap-anywhere">
      {name}: {value}
    </code>
  ))
}

function Code({ children }: { readonly children: ReactNode }) {
  return <code className="font-mono text-sm wrap-anywhere">{children}</code>
}

interface CodeTextProps {
  readonly text: string
  /** The name of the file to download. */
  readonly file: string
}

/** Not highlighted: unlike the documentation, it depends on the input. */
function CodeText({ text, file }: CodeTextProps) {
  return (
    <div className="space-y-3">
      <div className="doc">
        <div className="code">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the focused element (WCAG 2.1.1) */}
          <pre tabIndex={0}>
            <code>{text}</code>
          </pre>
          <button type="button" className="code-copy" data-copy="">
            <span data-copy-word aria-live="polite">
              Copy
            </span>
            <span className="sr-only"> the code</span>
          </button>
        </div>
      </div>
      <p>
        <a
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download={file}
          className={LINK}
        >
          Download {file}
        </a>
      </p>
    </div>
  )
}
