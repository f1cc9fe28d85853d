import type { Grade, Identity } from '@countersign/protocol'
import { gradeWithOwner } from '../../agents/grade-with-owner.ts'
import { Section } from '../../components/page.tsx'
import type { OfferedAgent } from './offered-agent.ts'
import { agentCount } from './texts.ts'

interface WhatChangesProps {
  readonly agents: readonly OfferedAgent[]
  /** The identity of the receiver, an organisation of the same person; null: another owner, whose identity is not known here. */
  readonly receiver: Identity | null
}

/** What a transfer changes, before it is started. */
export function WhatChanges({ agents, receiver }: WhatChangesProps) {
  return (
    <Section title="What changes">
      <ul className="flex list-disc flex-col gap-1.5 pl-5 text-pretty">
        {receiver === null ? (
          <ForOther agents={agents} />
        ) : (
          <ForOwn agents={agents} receiver={receiver} />
        )}
        <li>Webhooks, API keys and grant issuers do not move. Delegations end.</li>
        <li>
          The DID, the key, the name, the username and the picture stay. Each agent gets a new
          certificate, and the present one becomes invalid.
        </li>
        <li>Certificates show the date on which the owner changed.</li>
      </ul>
    </Section>
  )
}

interface ForOwnProps {
  readonly agents: readonly OfferedAgent[]
  readonly receiver: Identity
}

function ForOwn({ agents, receiver }: ForOwnProps) {
  return (
    <>
      <li>The agents move at once. You become responsible for them. Verified channels stay.</li>
      {gradeChanges(agents, receiver).map(({ from, to, count }) => (
        <li key={`${from}${to}`}>
          {from === to
            ? `The grade of ${agentCount(count)} stays ${from}.`
            : `The grade of ${agentCount(count)} changes from ${from} to ${to}.`}
        </li>
      ))}
    </>
  )
}

function ForOther({ agents }: Pick<WhatChangesProps, 'agents'>) {
  const grades = [...new Set(agents.map(({ grade }) => grade))].toSorted()
  return (
    <>
      <li>
        The receiver has to accept. Then the agents move after a delay, in which you can still
        cancel. You can no longer change or revoke them after that.
      </li>
      <li>
        The grade changes from {grades.join(', ')} to that of the receiver’s identity, at best C,
        until they prove channels again.
      </li>
    </>
  )
}

/** How the grades of agents change, worst first. */
function gradeChanges(agents: readonly OfferedAgent[], receiver: Identity) {
  const counts = new Map<string, { from: Grade; to: Grade; count: number }>()
  for (const agent of agents) {
    const from = agent.grade
    const to = gradeWithOwner(agent, receiver)
    const before = counts.get(from + to)?.count ?? 0
    counts.set(from + to, { from, to, count: before + 1 })
  }
  return [...counts.values()].toSorted((a, b) => b.to.localeCompare(a.to))
}
