import type { OwnerAgent } from '@countersign/protocol'
import { GradeMark } from '@countersign/ui'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { organisation } from '../../api/acting-for.ts'
import { useMay } from '../../api/use-may.ts'
import { channelsQuery } from '../../channels/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Section } from '../../components/page.tsx'

interface GradeSectionProps {
  readonly did: string
  readonly agent: OwnerAgent
}

const NO_VERIFICATION =
  organisation === null
    ? 'You have no valid identity verification.'
    : 'The organisation has no valid identity verification.'

/** Explains the grade and how to raise it. */
export function GradeSection({ did, agent }: GradeSectionProps) {
  const { grade, status, nextStep, verification, certificateUrl } = agent
  return (
    <Section
      title="Grade"
      lead="The owner’s identity verification and the agent’s channels determine the grade. Anyone can recompute it."
    >
      <div className="flex flex-wrap items-start gap-x-6 gap-y-4">
        <GradeMark grade={grade} status={status} size="medium" seed={certificateUrl} />
        <dl className="flex min-w-0 flex-1 basis-64 flex-col gap-3">
          <div>
            <dt className="font-medium">Owner verification</dt>
            <dd className="text-soft">
              {verification === null ? (
                NO_VERIFICATION
              ) : (
                <>
                  Verified by {verification.label} on <DateTime at={verification.verifiedAt} />
                </>
              )}
            </dd>
          </div>
          <div>
            <dt className="font-medium">Channels</dt>
            <dd className="text-soft wrap-break-word">
              <CountedChannels did={did} agent={agent} />
            </dd>
          </div>
        </dl>
      </div>
      <p>{nextStep ? nextStep.step : whyNoStep(agent)}</p>
      <NextStep did={did} agent={agent} />
    </Section>
  )
}

/** The verified channels on the agent's card, with data that only the owner can see. */
function CountedChannels({ did, agent: { channels } }: GradeSectionProps): ReactNode {
  const ownerChannels = useQuery(channelsQuery(did)).data?.channels
  if (channels.length === 0) return 'No verified channels'
  return (
    <ul className="flex flex-col gap-1">
      {channels.map(({ kind, handleOrDomain }) => {
        const match = ownerChannels?.find(
          (e) => e.kind === kind && e.handleOrDomain === handleOrDomain,
        )
        return (
          <li key={`${kind} ${handleOrDomain}`}>
            {match?.label ?? kind}: {handleOrDomain}
            {match?.checkedAt && (
              <>
                , last checked <DateTime at={match.checkedAt} as="ago" />
              </>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Links to the page where the grade can be raised. */
function NextStep({ did, agent: { verification, status, nextStep, tier } }: GradeSectionProps) {
  const may = useMay()
  const identity = (verification === null || tier === 2) && may('admin')
  if (status !== 'active' || nextStep === null) return null
  return (
    <div className="flex flex-wrap gap-3">
      {identity && (
        <Link to="/identity" className={buttonClass()}>
          {organisation === null ? 'Verify your identity' : 'Verify the organisation'}
        </Link>
      )}
      {tier !== 2 && may('manager') && (
        <Link to="/agents/$did/channels/new" params={{ did }} className={buttonClass()}>
          Add a channel
        </Link>
      )}
    </div>
  )
}

function whyNoStep({ status }: OwnerAgent): string {
  if (status === 'active') return 'This is the best grade.'
  return `The grade of a ${status} agent is E.`
}
