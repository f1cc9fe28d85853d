import { AgentCard, Day, STATUS_WORDS } from '@countersign/ui'
import { ACTOR_WORDS, reasonWords, VERDICTS } from '../../agents/wording.ts'
import type { AgentAnswer } from '../check-data.ts'
import type { SignatureCheck } from '../check-signature.ts'
import { Verdict } from './check-parts.tsx'
import type { PageContext } from './page-context.ts'
import { pathOf } from './page-context.ts'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

interface AnswerProps<T> {
  readonly context: PageContext
  readonly answer: T
}

/** The result of an agent lookup. */
export function AgentAnswerView({ context, answer }: AnswerProps<AgentAnswer>) {
  if (answer.kind !== 'found') return <NotFound context={context} answer={answer} />
  const { card, statusSet } = answer
  return (
    <div className="space-y-5">
      <Verdict tone={card.status} title={STATUS_WORDS[card.status]}>
        {VERDICTS[card.status]}
        {card.status !== 'active' && (
          <>
            {' '}
            {STATUS_WORDS[card.status]} on <Day at={statusSet.at} />
            {statusSet.by !== null && ` by ${ACTOR_WORDS[statusSet.by]}`}.
            {statusSet.reason !== null && ` Reason: ${reasonWords(statusSet.reason)}.`}
          </>
        )}
      </Verdict>
      <AgentCard card={card} picture={pathOf(card.avatarUrl)} />
      <p>
        <a href={pathOf(card.certificateUrl)} className={LINK}>
          Open the certificate
        </a>
      </p>
    </div>
  )
}

type NotFoundAnswer = Exclude<AgentAnswer, { kind: 'found' }>

function NotFound({ context, answer }: AnswerProps<NotFoundAnswer>) {
  const { naming } = context.site
  switch (answer.kind) {
    case 'unknown':
      return (
        <Verdict tone="revoked" title="Unknown agent">
          {context.serviceName} has not certified this agent. If somebody shows you this name as
          proof, it proves nothing.
        </Verdict>
      )
    case 'free':
      return (
        <Verdict tone="revoked" title="No agent has this username">
          {answer.givenUpOn !== null && (
            <>
              It was given up on <Day at={answer.givenUpOn} />.{' '}
            </>
          )}
          If somebody shows you this name as proof, it proves nothing. Ask for the DID of the agent.
        </Verdict>
      )
    case 'elsewhere':
      return (
        <Verdict tone="plain" title="Certificate of another service">
          This certificate belongs to {answer.host}. Check it there.
        </Verdict>
      )
    case 'token':
      return (
        <Verdict tone="suspended" title="That is a claim token">
          A claim token is a secret: with it, anyone can claim an agent in the name of its owner. If
          somebody sent it to you, warn them. If it is yours, create a new one, which invalidates
          this one.
        </Verdict>
      )
    default:
      return (
        <Verdict tone="plain" title="Not an agent">
          Enter a username, a DID ({naming.didPrefix} and 24 characters), the last 24 characters of
          a DID, a public key (44 characters of base64), or the address of a certificate on{' '}
          {context.site.host}.
        </Verdict>
      )
  }
}

/** The result of a signature check. */
export function SignatureAnswerView({ context, answer }: AnswerProps<SignatureCheck>) {
  switch (answer.kind) {
    case 'valid':
      return <Valid context={context} answer={answer} />
    case 'invalid':
      return (
        <Verdict tone="revoked" title="Invalid signature">
          The key of this agent did not sign this text. Either the text differs from the one that
          was signed, if only by a space or a line end, or another key signed it. Ask the agent to
          sign the challenge below again, and paste the 88 characters that its command prints.
        </Verdict>
      )
    case 'expired':
      return (
        <Verdict tone="suspended" title="Expired challenge">
          A challenge of this page is valid for 10 minutes. The signature was not verified. Send the
          agent the new challenge of step 2.
        </Verdict>
      )
    case 'used':
      return (
        <Verdict tone="suspended" title="Challenge already used">
          You have already verified an answer to this challenge. A replayed answer proves nothing.
          Send the agent the new challenge of step 2.
        </Verdict>
      )
    case 'foreign':
      return (
        <Verdict tone="revoked" title="Not a challenge for this agent">
          This page did not create this challenge for this agent. The signature was not verified.
          Send the agent the new challenge of step 2.
        </Verdict>
      )
    case 'uncertified':
      return (
        <Verdict tone="suspended" title="Valid signature of an unknown key">
          {context.serviceName} has not certified an agent with this key, so its owner is unknown.
        </Verdict>
      )
    case 'malformed':
      return (
        <Verdict tone="plain" title="Cannot be verified">
          {answer.message}
        </Verdict>
      )
    case 'unreadable-signature':
      return (
        <Verdict tone="plain" title="Not a signature">
          Paste what the command of step 2 prints: 88 characters of base64 that end in “==”, without
          quotation marks. Nothing was verified.
        </Verdict>
      )
    default:
      return <NotFound context={context} answer={answer} />
  }
}

function Valid({ context, answer }: AnswerProps<Extract<SignatureCheck, { kind: 'valid' }>>) {
  const { agent } = answer.answer
  const did = agent[context.site.naming.didField]
  const link = (
    <a href={`/agent/${did}`} className="underline underline-offset-4">
      Open its certificate
    </a>
  )
  if (agent.status !== 'active') {
    return (
      <Verdict tone={agent.status} title={`Valid signature, but ${agent.status}`}>
        The signer holds the key of {agent.displayName}, but its certificate is {agent.status}. Do
        not rely on it. {link}
      </Verdict>
    )
  }
  return (
    <Verdict tone="active" title="Valid signature">
      The signer holds the key of {agent.displayName}, and its certificate is active.{' '}
      {answer.isOwnText &&
        'This page did not create the text, so it cannot tell whether the answer is new. Rely on it only if you have never used this text before. '}
      {link}
    </Verdict>
  )
}
