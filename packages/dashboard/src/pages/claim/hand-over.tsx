import { type ReactNode, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { TextField } from '../../parts/field.tsx'
import { Section } from '../../parts/page.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import {
  type ClaimFacts,
  countersignCommands,
  opensslCommands,
  PLAIN_LABEL,
  sentenceForAgent,
} from './commands.ts'
import type { ClaimToken } from './use-claim-token.ts'

interface HandOverProps {
  readonly token: ClaimToken
}

/** The same claim in three forms, ready to be taken to where the agent is. */
export function HandOver({ token }: HandOverProps) {
  const { name, shortName, baseUrl } = useService()
  const [label, setLabel] = useState('main')
  const plain = PLAIN_LABEL.test(label)
  const facts: ClaimFacts = {
    token: token.value,
    label: plain ? label : 'main',
    baseUrl,
    shortName,
    serviceName: name,
    until: inUtc(token.expiresAt),
  }

  return (
    <Section
      title="Hand it to the agent"
      lead="Whoever operates the agent runs this where its key is kept. The key never leaves that place."
    >
      <TextField
        label="Your label for the agent"
        hint="Only you see it: it tells several agents with the same key apart. It stays as it is claimed."
        error={
          plain
            ? null
            : 'Here, a label is 1 to 128 letters, digits, dots, _ and -, beginning with a letter or digit.'
        }
        value={label}
        onChange={({ target }) => setLabel(target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <Tabs
        label="Ways to claim"
        ways={[
          {
            id: 'countersign',
            title: 'countersign',
            content: (
              <Way label="Commands for countersign" text={countersignCommands(facts)}>
                The first command makes the agent’s key, and never replaces one that is there. In a
                checkout of the service, write <code className="font-mono">npx countersign</code>.
              </Way>
            ),
          },
          {
            id: 'openssl',
            title: 'curl, openssl',
            content: (
              <Way label="Commands for curl and openssl" text={opensslCommands(facts)}>
                Needs nothing but a shell, curl and OpenSSL 3.
              </Way>
            ),
          },
          {
            id: 'sentence',
            title: 'In words',
            content: (
              <Way label="Words for the agent" text={sentenceForAgent(facts)}>
                For an agent that can sign and send requests by itself. Paste it where you talk to
                it.
              </Way>
            ),
          },
        ]}
      />
    </Section>
  )
}

/** Wherever the agent is: 2027-03-01 14:05 UTC. */
function inUtc(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

interface WayProps {
  readonly label: string
  readonly text: string
  readonly children: ReactNode
}

function Way({ label, text, children }: WayProps) {
  return (
    <div className="flex flex-col gap-3">
      <CopyField label={label} value={text} lines />
      <p className="text-pretty text-soft text-sm">{children}</p>
    </div>
  )
}
