import type { AgentStatus } from '@countersign/protocol'
import { Day, GradeMark, STATUS_WORDS, StatusIcon } from '@countersign/ui'
import type { ReactNode } from 'react'
import { VERDICTS } from '../../agents/wording.ts'
import type { Certificate } from '../certificate.ts'
import { Answer } from './certificate-answer.tsx'
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

/** The first screen of a certificate: its status, who runs the agent, the agent, the seal, and what to do next. */
export function CertificateFace({ context, certificate, sampleBand }: CertificateFaceProps) {
  const { agent } = certificate
  const isSample = sampleBand !== undefined
  const isTest = agent.developmentOnly === true
  return (
    <>
      {sampleBand ?? <Bands status={agent.status} isTest={isTest} />}
      <div className="space-y-5 px-5 py-5 sm:space-y-7 sm:px-10 sm:py-8">
        <p className="max-w-3xl text-xl/7 font-medium text-pretty wrap-anywhere sm:text-2xl/9">
          <Answer certificate={certificate} />
        </p>
        <Agent context={context} certificate={certificate} isTitle={!isTest} />
        {agent.status === 'active' && !isSample && (
          <a
            href={`/check?agent=${agent[context.site.naming.didField]}`}
            className="flex min-h-12 items-center justify-center rounded-lg bg-accent px-3 py-2 text-center text-[0.9375rem] font-semibold sm:px-6 sm:text-base text-on-accent hover:bg-accent-strong sm:inline-flex"
          >
            Is this the agent I am talking to?
          </a>
        )}
        <History certificate={certificate} />
        {agent.description !== '' && (
          <p className="max-w-3xl whitespace-pre-line text-pretty wrap-anywhere">
            <span className="text-soft">Described by its owner: </span>
            <bdi>{agent.description}</bdi>
          </p>
        )}
      </div>
    </>
  )
}

interface BandsProps {
  readonly status: AgentStatus
  readonly isTest: boolean
}

/** What the certificate is worth, in words and colour. A test says so first, unless it is no longer valid either. */
function Bands({ status, isTest }: BandsProps) {
  if (!isTest) return <StatusBand status={status} />
  return (
    <>
      {status !== 'active' && <StatusBand status={status} />}
      <div className="bg-warn-wash px-5 py-4 text-warn wrap-anywhere sm:px-10">
        <h1 className="text-2xl/8 font-bold tracking-tight sm:text-3xl/9">Development only</h1>
        <p>This is a test. Nobody checked who owns this agent.</p>
      </div>
    </>
  )
}

function StatusBand({ status }: Pick<BandsProps, 'status'>) {
  return (
    <div
      role={status === 'active' ? undefined : 'alert'}
      className={`flex items-center gap-3 px-5 py-3 sm:px-10 sm:py-4 ${BANDS[status]}`}
    >
      <StatusIcon
        status={status}
        className={status === 'active' ? 'size-9 shrink-0' : 'size-12 shrink-0'}
      />
      <p className="min-w-0 wrap-anywhere">
        <strong
          className={`block font-bold tracking-tight ${status === 'active' ? 'text-xl/6' : 'text-3xl/9'}`}
        >
          {STATUS_WORDS[status]}
        </strong>
        {VERDICTS[status]}
      </p>
    </div>
  )
}

interface AgentProps extends FaceProps {
  /** Whether the name of the agent is the heading of the page. */
  readonly isTitle: boolean
}

function Agent({ context, certificate: { agent, grade }, isTitle }: AgentProps) {
  const { status, username } = agent
  const Heading = isTitle ? 'h1' : 'h2'
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-3 sm:gap-x-6">
      <img
        src={pathOf(agent.avatarUrl)}
        alt=""
        width="96"
        height="96"
        className={`hidden size-24 rounded-2xl bg-sunken object-cover sm:block ${status === 'active' ? '' : 'opacity-60 grayscale'}`}
      />
      <div className="min-w-0 flex-1 basis-32">
        <p className="text-sm text-soft">Agent, by its self-declared name</p>
        <Heading className="text-2xl/8 font-bold tracking-tight text-balance wrap-anywhere sm:text-4xl/11">
          <bdi>{agent.displayName}</bdi>
        </Heading>
        {username !== null && <p className="text-soft wrap-anywhere">@{username}</p>}
      </div>
      <GradeMark
        grade={grade.grade}
        status={status}
        developmentOnly={agent.developmentOnly}
        size="large"
        seed={agent[context.site.naming.didField]}
      />
    </div>
  )
}

/** What has happened to the certificate, as far as the agent itself shows it: all of it is in the log. */
function History({ certificate: { agent, recovery } }: Pick<FaceProps, 'certificate'>) {
  const { status, claimedAt, statusChangedAt, keySequence, keyChangedAt } = agent
  const { ownerChangedAt = '' } = agent
  const events = [
    { at: keyChangedAt, words: keySequence > 1 && replacedWords(keySequence - 1) },
    { at: recovery?.startedAt ?? '', words: recovery !== null && 'Key recovery started on' },
    { at: ownerChangedAt, words: ownerChangedAt !== '' && 'Owner changed on' },
    { at: statusChangedAt, words: statusChangedAt !== claimedAt && STATUS_EVENTS[status] },
  ]
  // A time that is only a day can be before the claim, which is always the first event.
  events.sort((a, b) => (a.at < b.at ? -1 : 1))
  return (
    <ol aria-label="History" className="flex flex-wrap gap-x-5 gap-y-1 text-sm text-soft">
      {[{ at: claimedAt, words: 'Claimed on' }, ...events].map(
        ({ at, words }) =>
          words !== false && (
            <li key={words} className="border-l-2 border-line-strong pl-2">
              {words} <Day at={at} />
            </li>
          ),
      )}
    </ol>
  )
}

const STATUS_EVENTS: Readonly<Record<AgentStatus, string>> = {
  active: 'Reactivated on',
  suspended: 'Suspended on',
  revoked: 'Revoked on',
}

function replacedWords(times: number): string {
  return times === 1 ? 'Key replaced on' : `Key replaced ${times} times, last on`
}
