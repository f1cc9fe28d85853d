import { Command, CopyField, formatMinute } from '@countersign/ui'
import type { ReactNode } from 'react'
import type { CheckPageData } from '../check-data.ts'
import { AgentAnswerView, SignatureAnswerView } from './check-answers.tsx'
import { CheckTabs, Note } from './check-parts.tsx'
import { AgentForm, SubmitButton, TextArea, TextField } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

/** The check page: look up an agent, send it a challenge, verify its signature. Each step keeps what was entered. */
export function checkPage(context: PageContext, data: CheckPageData): string {
  const { agent } = data
  return htmlOf(
    <Shell
      context={context}
      title={`Check an agent · ${context.serviceName}`}
      description={`Look up the ${context.serviceName} certificate of an agent, and verify that the agent holds its key.`}
      path="/check"
    >
      <CheckTabs path="/check" />
      <h1 className={TITLE}>Check an agent</h1>
      <p className="mt-4 max-w-2xl text-lg/8 text-pretty">
        Look up its certificate. Then verify that the agent you talk to holds the key of that
        certificate. You need no account.
      </p>
      <ol className="mt-10 space-y-12">
        <Step number={1} id="look-up" title="Look up the agent">
          <AgentForm label="Agent" {...askedOf(agent)} />
          {agent !== null && <AgentAnswerView context={context} answer={agent.answer} />}
        </Step>
        {!isRevoked(data) && (
          <>
            <Challenge context={context} data={data} />
            <Proof context={context} data={data} />
          </>
        )}
      </ol>
    </Shell>,
  )
}

/** The key of a revoked agent proves nothing any more. An answer that was pasted already is still judged. */
function isRevoked({ agent, proof }: CheckPageData): boolean {
  return agent?.answer.kind === 'found' && agent.answer.card.status === 'revoked' && proof === null
}

const TITLE = 'mt-8 max-w-3xl text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14'

interface StepProps {
  readonly number: number
  readonly id: string
  readonly title: string
  readonly children: ReactNode
}

function Step({ number, id, title, children }: StepProps) {
  return (
    <li className="grid gap-x-10 gap-y-5 border-t border-line pt-8 lg:grid-cols-[16rem_minmax(0,1fr)]">
      <h2 id={id} className="flex items-baseline gap-3 text-2xl/8 font-semibold tracking-tight">
        <span className="text-soft tabular-nums">{number}</span>
        {title}
      </h2>
      <div className="min-w-0 max-w-2xl space-y-5">{children}</div>
    </li>
  )
}

interface DataProps {
  readonly context: PageContext
  readonly data: CheckPageData
}

function Challenge({ context, data }: DataProps) {
  const did = didOf(context, data)
  if (did === null || data.challenge === null) {
    return (
      <Step number={2} id="challenge" title="Send it a challenge">
        <p className="text-soft">
          Look up the agent first. This page then creates a challenge for it.
        </p>
      </Step>
    )
  }
  const { challenge, expiresAt, replaces } = data.challenge
  const { baseUrl } = context.site
  return (
    <Step number={2} id="challenge" title="Send it a challenge">
      {replaces !== null && data.proof === null && <Note>{REPLACED[replaces]}</Note>}
      <p>
        Send this text to the agent over the channel on which you talk to it, and ask for its
        signature.
      </p>
      <Command value={challenge} what="the challenge" />
      <p>The agent, or the person who operates it, runs this command:</p>
      <Command
        value={`npx -y ${context.cliPackage} sign --audience ${baseUrl} '${challenge}'`}
        what="the command that signs the challenge"
      />
      <p className="text-sm/6 text-soft">
        Valid for this agent only, until <time dateTime={expiresAt}>{formatMinute(expiresAt)}</time>
        . Use each challenge once. A replayed answer proves nothing.{' '}
        <a href={`/check?agent=${encodeURIComponent(did)}#challenge`} className={LINK}>
          Create a new challenge
        </a>
      </p>
    </Step>
  )
}

const REPLACED = {
  expired: 'The challenge in this link has expired. Use the new one below.',
  used: 'You have already used the challenge in this link. Use the new one below.',
  foreign:
    'This page did not create the challenge in this link for this agent. Use the new one below.',
} as const

function Proof({ context, data }: DataProps) {
  const { proof, challenge } = data
  const did = didOf(context, data)
  if (did === null && proof === null) {
    return (
      <Step number={3} id="signature" title="Verify its signature">
        <p className="text-soft">
          Paste the answer of the agent here. The result appears below it.
        </p>
      </Step>
    )
  }
  const isOver = proof !== null && OVER.has(proof.answer.kind)
  const text = proof === null || isOver ? (challenge?.challenge ?? '') : proof.asked.challenge
  const link = `/check?${new URLSearchParams({ agent: did ?? '', challenge: text.trim() })}`
  return (
    <Step number={3} id="signature" title="Verify its signature">
      {proof !== null && proof.answer.kind !== data.agent?.answer.kind && (
        <SignatureAnswerView context={context} answer={proof.answer} />
      )}
      <form method="post" action={`${link}#signature`} className="space-y-5">
        <input type="hidden" name="agent" value={did ?? proof?.asked.agent ?? ''} />
        <TextField
          id="signed"
          name="signature"
          label="Signature"
          hint="The answer of the agent: 88 characters of base64"
          value={isOver ? '' : (proof?.asked.signature ?? '')}
          code
        />
        <TextArea
          id="text"
          name="challenge"
          label="Challenge"
          hint="Change this only if you sent the agent another text."
          value={text}
        />
        <SubmitButton>Verify signature</SubmitButton>
      </form>
      {did !== null && isLinkable(context, text) && (
        <div className="text-sm/6 text-soft">
          <p>Link to this check, without the signature:</p>
          <CopyField value={context.site.baseUrl + link} what="the link" />
        </div>
      )}
    </Step>
  )
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** After these results, the agent has to sign the new challenge. */
const OVER: ReadonlySet<string> = new Set(['expired', 'used', 'foreign'])

/** A text of the visitor's own may say anything, so links hold only challenges of this page. */
function isLinkable({ site }: PageContext, text: string): boolean {
  return text.trim().startsWith(`${site.naming.challengePrefix}${site.baseUrl}:`)
}

function didOf({ site }: PageContext, { agent }: CheckPageData): string | null {
  return agent?.answer.kind === 'found' ? agent.answer.card[site.naming.didField] : null
}

/** Refills the form with the input, except a claim token, which is a secret. */
function askedOf(agent: CheckPageData['agent']): { value?: string } {
  return agent === null || agent.answer.kind === 'token' ? {} : { value: agent.asked }
}
