import type { AgentStatus } from '@countersign/protocol'
import { AgentCard, StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'
import { VERDICTS } from '../../agents/wording.ts'
import type { AgentAnswer } from '../check-data.ts'
import type { SignatureCheck } from '../check-signature.ts'
import type { PageContext } from './context.ts'
import { pathOf } from './context.ts'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

interface AnswerProps<T> {
  readonly context: PageContext
  readonly answer: T
}

/** The result of an agent lookup. */
export function AgentAnswerView({ context, answer }: AnswerProps<AgentAnswer>) {
  if (answer.kind !== 'found') return <NotFound context={context} answer={answer} />
  const { card } = answer
  const verdict =
    card.status === 'active' ? 'Active' : card.status === 'revoked' ? 'Revoked' : 'Suspended'
  return (
    <div className="space-y-5">
      <Verdict tone={card.status} title={verdict}>
        {VERDICTS[card.status]}
      </Verdict>
      <AgentCard card={card} picture={pathOf(card.avatarUrl)} />
      <p>
        <a href={pathOf(card.certificateUrl)} className={LINK}>
          See the whole certificate
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
        <Verdict tone="revoked" title="Unknown here">
          {context.serviceName} has certified no such agent. Whoever shows you this as a proof has
          proved nothing.
        </Verdict>
      )
    case 'elsewhere':
      return (
        <Verdict tone="plain" title="Not one of ours">
          That belongs to {answer.host}. Only that service can say how it stands.
        </Verdict>
      )
    case 'token':
      return (
        <Verdict tone="suspended" title="That is a claim token">
          A claim token is a secret: whoever has it can become one of its owner’s agents. If
          somebody sent it to you, tell them; if it is yours, issue another, which ends this one.
        </Verdict>
      )
    default:
      return (
        <Verdict tone="plain" title="That names no agent">
          An agent is named by its username, by its DID ({naming.didPrefix} and 24 characters), by
          those 24 characters, by its public key (44 characters of base64), or by the address of its
          certificate on {context.site.host}.
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
        <Verdict tone="revoked" title="Not valid">
          This is not a signature of that key over this text. Either the text differs by a letter, a
          space or a line end from the one that was signed, or whoever signed it is not that agent.
        </Verdict>
      )
    case 'uncertified':
      return (
        <Verdict tone="suspended" title="Valid, of an unknown key">
          The signature is good, but {context.serviceName} has certified no agent with this key:
          nobody is known to stand behind it.
        </Verdict>
      )
    case 'malformed':
      return (
        <Verdict tone="plain" title="That cannot be checked">
          {answer.message}
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
      See its certificate
    </a>
  )
  if (agent.status === 'active') {
    return (
      <Verdict tone="active" title="Valid">
        Whoever signed this holds the key of {agent.displayName}, whose certificate is active. That
        holds for this text and no other: a text that was used before proves nothing. {link}
      </Verdict>
    )
  }
  return (
    <Verdict tone={agent.status} title={`Valid, but ${agent.status}`}>
      Whoever signed this holds the key of {agent.displayName}, but its certificate is{' '}
      {agent.status}: do not rely on it. {link}
    </Verdict>
  )
}

interface VerdictProps {
  /** `plain`: neither good nor bad, such as input that cannot be parsed. */
  readonly tone: AgentStatus | 'plain'
  readonly title: string
  readonly children?: ReactNode
}

const TONES: Readonly<Record<VerdictProps['tone'], string>> = {
  active: 'bg-good-wash text-good',
  suspended: 'bg-warn-wash text-warn',
  revoked: 'bg-bad text-on-bad',
  plain: 'bg-sunken text-ink',
}

/** A prominent result. */
function Verdict({ tone, title, children }: VerdictProps) {
  return (
    <div role="status" className={`flex items-start gap-4 rounded-xl px-5 py-5 ${TONES[tone]}`}>
      {tone !== 'plain' && <StatusIcon status={tone} className="size-10 shrink-0" />}
      <div className="min-w-0">
        <p className="text-2xl/8 font-bold tracking-tight text-balance wrap-anywhere">{title}</p>
        {children !== undefined && <p className="mt-1 text-pretty wrap-anywhere">{children}</p>}
      </div>
    </div>
  )
}
