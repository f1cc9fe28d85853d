import { type ReactNode, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { CopyField } from '../../components/copy-field.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import {
  type ClaimData,
  countersignCommands,
  opensslCommands,
  PLAIN_LABEL,
  sentenceForAgent,
} from './commands.ts'
import type { ClaimToken } from './use-claim-token.ts'

interface ClaimInstructionsProps {
  readonly token: ClaimToken
}

/** Three tabs to redeem the token, ready to copy. */
export function ClaimInstructions({ token }: ClaimInstructionsProps) {
  const { name, shortName, baseUrl, cliPackage } = useService()
  const [label, setLabel] = useState('main')
  const plain = PLAIN_LABEL.test(label)
  const facts: ClaimData = {
    token: token.value,
    label: plain ? label : 'main',
    baseUrl,
    cliPackage,
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
        tabs={[
          {
            id: 'countersign',
            title: 'countersign',
            content: (
              <Tab label="Commands for countersign" text={countersignCommands(facts)}>
                The first command makes the agent’s key, and never replaces one that is there. npx
                comes with Node.js, 20.19 or later.
              </Tab>
            ),
          },
          {
            id: 'openssl',
            title: 'curl, openssl',
            content: (
              <Tab label="Commands for curl and openssl" text={opensslCommands(facts)}>
                Needs nothing but a shell, curl and OpenSSL 3.
              </Tab>
            ),
          },
          {
            id: 'sentence',
            title: 'In words',
            content: (
              <Tab label="Words for the agent" text={sentenceForAgent(facts)}>
                For an agent that can sign and send requests by itself. Paste it where you talk to
                it.
              </Tab>
            ),
          },
        ]}
      />
    </Section>
  )
}

/** Such as 2027-03-01 14:05 UTC, because the agent may be in another time zone. */
function inUtc(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

interface WayProps {
  readonly label: string
  readonly text: string
  readonly children: ReactNode
}

function Tab({ label, text, children }: WayProps) {
  return (
    <div className="flex flex-col gap-3">
      <CopyField label={label} value={text} lines />
      <p className="text-pretty text-soft text-sm">{children}</p>
    </div>
  )
}
