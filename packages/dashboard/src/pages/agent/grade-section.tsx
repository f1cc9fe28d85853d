import type { OwnerAgent } from '@countersign/protocol'
import { GradeMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../parts/button.tsx'
import { Section } from '../../parts/page.tsx'

/** What the letter is made of, and what would raise it. */
export function GradeSection({ agent }: { readonly agent: OwnerAgent }) {
  const { grade, status, nextStep, verification, channels, certificateUrl } = agent
  return (
    <Section
      title="Grade"
      lead="Two questions make the letter: who stands behind the agent, and where it can be reached. Anyone can recompute it."
    >
      <div className="flex flex-wrap items-start gap-x-6 gap-y-4">
        <GradeMark grade={grade} status={status} size="medium" seed={certificateUrl} />
        <dl className="flex min-w-0 flex-1 basis-64 flex-col gap-3">
          <div>
            <dt className="font-medium">Who stands behind it</dt>
            <dd className="text-soft">
              {verification === null
                ? 'You, but you have no verified identity at present.'
                : `You. Your identity is verified: ${verification.label}.`}
            </dd>
          </div>
          <div>
            <dt className="font-medium">Where it can be reached</dt>
            <dd className="text-soft wrap-anywhere">
              {channels.length === 0
                ? 'At no channel that has been verified.'
                : channels.map((each) => `${each.kind}: ${each.handleOrDomain}`).join(', ')}
            </dd>
          </div>
        </dl>
      </div>
      <p>{nextStep ? nextStep.step : whyNoStep(agent)}</p>
      {verification === null && status === 'active' && (
        <Link to="/identity" className={`self-start ${buttonClass()}`}>
          Verify your identity
        </Link>
      )}
    </Section>
  )
}

function whyNoStep({ status }: OwnerAgent): string {
  if (status === 'active') return 'There is no better one.'
  return `A certificate that is ${status} is an E, whatever else is known of the agent.`
}
