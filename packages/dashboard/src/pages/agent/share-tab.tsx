import type { OwnerAgent } from '@countersign/protocol'
import { useService } from '../../agents/use-service.ts'
import { Section } from '../../components/page.tsx'
import { useAgent } from './agent-tabs.ts'
import { BadgeCode } from './badge-code.tsx'

export function ShareTab() {
  return <Sharing {...useAgent()} />
}

interface SharingProps {
  readonly did: string
  readonly agent: OwnerAgent
}

/** Links to the public pages, and code for badges. */
export function Sharing({ did, agent }: SharingProps) {
  const { baseUrl } = useService()
  const links = [
    ['Public certificate', agent.certificateUrl],
    ['Agent as JSON', `${baseUrl}/api/agents/${did}`],
    ['Card as JSON', `${baseUrl}/api/agents/${did}/card`],
    ['DID document', `${baseUrl}/agent/${did.replaceAll(':', '/')}/did.json`],
  ] as const

  return (
    <Section title="Share" lead="Public pages and badges. They always show the current status.">
      <ul className="grid gap-x-8 gap-y-2 sm:grid-cols-2">
        {links.map(([name, url]) => (
          <li key={name}>
            <a href={url} className="inline-flex min-h-8 items-center text-accent underline">
              {name}
            </a>
          </li>
        ))}
      </ul>
      <BadgeCode did={did} agent={agent} />
    </Section>
  )
}
