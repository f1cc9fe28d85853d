import type { AgentStatus } from '@countersign/protocol'
import { Day, GradeMark, STATUS_WORDS, StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'
import { reasonWords, VERDICTS } from '../../agents/wording.ts'
import type { Certificate } from '../certificate.ts'
import type { PageContext } from './page-context.ts'
import { pathOf } from './page-context.ts'

const BANDS: Readonly<Record<AgentStatus, string>> = {
  active: 'bg-good-wash text-good',
  suspended: 'bg-warn-wash text-warn',
  revoked: 'bg-bad text-on-bad',
}

export interface FaceProps {
  readonly context: PageContext
  readonly certificate: Certificate
}

interface CertificateFaceProps extends FaceProps {
  /** Stands instead of the status, on the sample. */
  readonly sampleBand?: ReactNode
}

/** The head of a certificate: status, names and a summary. */
export function CertificateFace({ context, certificate, sampleBand }: CertificateFaceProps) {
  const { agent, grade } = certificate
  const { status } = agent
  return (
    <>
      {sampleBand ?? <StatusBand status={status} />}
      {agent.developmentOnly && <DevelopmentBand />}
      <div className="grid grid-cols-[1fr_auto] items-center gap-x-6 gap-y-6 px-5 py-8 sm:grid-cols-[auto_minmax(0,1fr)_auto] sm:gap-x-7 sm:px-10 sm:py-12">
        <img
          src={pathOf(agent.avatarUrl)}
          alt=""
          width="112"
          height="112"
          className={`size-24 shrink-0 rounded-2xl sm:size-28 bg-sunken object-cover ${status === 'active' ? '' : 'opacity-60 grayscale'}`}
        />
        <div className="order-1 col-span-2 min-w-0 sm:order-none sm:col-span-1">
          <p className="text-base text-soft">
            Certificate of a software agent. Self-declared name:
          </p>
          <h1 className="text-4xl/11 font-bold tracking-tight text-balance wrap-anywhere sm:text-5xl/14">
            {agent.displayName}
          </h1>
          {agent.username !== null && (
            <p className="text-lg text-soft wrap-anywhere">@{agent.username}</p>
          )}
        </div>
        <GradeMark
          grade={grade.grade}
          status={status}
          size="large"
          seed={agent[context.site.naming.didField]}
        />
        <div className="order-2 col-span-2 max-w-3xl space-y-5 sm:col-span-3">
          <p className="text-xl/8 font-medium text-pretty wrap-anywhere sm:text-2xl/9">
            {sampleBand === undefined ? (
              <Statement context={context} certificate={certificate} />
            ) : (
              'On a real certificate, this sentence says who owns the agent and whether the name is verified.'
            )}
          </p>
          {agent.description !== '' && (
            <p className="text-lg/8 whitespace-pre-line text-pretty wrap-anywhere">
              <span className="text-soft">Description by its owner: </span>
              {agent.description}
            </p>
          )}
        </div>
      </div>
    </>
  )
}

/** Next to the status, so that nobody takes a certificate from a developer's machine for a real one. */
function DevelopmentBand() {
  return (
    <p className="border-t border-line bg-warn-wash px-5 py-4 text-base text-warn sm:px-10 sm:text-lg">
      <strong className="font-bold">Development only.</strong> The owner was verified by a provider
      for development, which accepts any name. Do not rely on it.
    </p>
  )
}

function StatusBand({ status }: { readonly status: AgentStatus }) {
  return (
    <div className={`flex items-center gap-4 px-5 py-5 sm:gap-5 sm:px-10 sm:py-6 ${BANDS[status]}`}>
      <StatusIcon status={status} className="size-12 shrink-0 sm:size-14" />
      <p className="min-w-0">
        <strong className="block text-3xl/9 font-bold tracking-tight sm:text-4xl/10">
          {STATUS_WORDS[status]}
        </strong>
        <span className="text-base sm:text-lg">{VERDICTS[status]}</span>
      </p>
    </div>
  )
}

/** The certificate in one or two sentences. */
function Statement({ context, certificate }: FaceProps): ReactNode {
  const { agent } = certificate
  if (agent.status === 'suspended') {
    return (
      <>
        It has been suspended since <Day at={agent.statusChangedAt} />
        <Reason of={agent.statusReason} />. Do not rely on this agent until its certificate is
        active again.
      </>
    )
  }
  if (agent.status === 'revoked') {
    return (
      <>
        It was revoked on <Day at={agent.statusChangedAt} />
        <Reason of={agent.statusReason} />. Do not trust anyone who shows it. A revoked certificate
        never becomes valid again.
      </>
    )
  }
  return (
    <>
      {context.serviceName} certifies that this agent holds the key below.{' '}
      <Backing certificate={certificate} />
    </>
  )
}

function Backing({ certificate: { agent, verification } }: Pick<FaceProps, 'certificate'>) {
  const { owner, ownerName } = agent
  if (owner === null) return 'Its owner has deleted their account.'
  // The name does not end the sentence: it may end with a full stop itself.
  const declared = <>{owner.displayName} is its owner’s self-declared name.</>
  if (verification === null) return <>{declared} No identity verification backs it.</>
  const { label, assurance } = verification
  const verified = ownerName?.verified ?? null
  if (verified !== null) {
    return (
      <>
        Its owner is {verified.name}, as verified by {verified.label}. {declared}
      </>
    )
  }
  return (
    <>
      {declared} {label} verified the owner’s identity
      {agent.developmentOnly ? ' for development only' : ` with ${assurance} assurance`}, but that
      does not verify this name.
    </>
  )
}

function Reason({ of: reason }: { readonly of: string | null }) {
  return reason === null ? null : <> (reason given: {reasonWords(reason)})</>
}
