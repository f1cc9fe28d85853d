import { StatusMark } from '@countersign/ui'
import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { useAgent } from './agent-tabs.ts'
import { BesideCard } from './beside-card.tsx'
import { GradeSection } from './grade-section.tsx'
import { Identifiers } from './identifiers.tsx'
import { StatusText } from './status-text.tsx'

export function OverviewTab() {
  const { did, agent } = useAgent()
  return (
    <BesideCard title="Public card" card={agent}>
      <Section title="Status" actions={<StatusMark status={agent.status} />}>
        <div className="max-w-2xl text-pretty">
          <StatusText agent={agent} />
        </div>
        {agent.status !== 'revoked' && (
          <Link
            to="/agents/$did/danger"
            params={{ did }}
            className={`self-start ${buttonClass('secondary', 'small')}`}
          >
            Change status
          </Link>
        )}
      </Section>
      <GradeSection did={did} agent={agent} />
      <Identifiers did={did} agent={agent} />
    </BesideCard>
  )
}
