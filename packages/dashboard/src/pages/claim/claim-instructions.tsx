import { type ReactNode, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { CopyField } from '../../components/copy-field.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import {
  type ClaimData,
  countersignCommand,
  opensslCommands,
  PLAIN_LABEL,
  sentenceForAgent,
} from './commands.ts'
import type { ClaimTokens } from './use-claim-tokens.ts'

interface ClaimInstructionsProps {
  readonly tokens: ClaimTokens
}

/** Three tabs to redeem the token, ready to copy. */
export function ClaimInstructions({ tokens }: ClaimInstructionsProps) {
  const { name, shortName, baseUrl, cliPackage } = useService()
  const [label, setLabel] = useState('main')
  const plain = PLAIN_LABEL.test(label)
  const data: ClaimData = {
    token: tokens.values[0] as string,
    label: plain ? label : 'main',
    baseUrl,
    cliPackage,
    shortName,
    serviceName: name,
    until: inUtc(tokens.expiresAt),
  }

  return (
    <Section
      title="Claim with the token"
      lead="Run the command where the agent runs. The private key never leaves that machine."
    >
      <Tabs
        label="Ways to claim"
        tabs={[
          {
            id: 'countersign',
            title: 'countersign',
            content: (
              <Tab label="Command for countersign" text={countersignCommand(data)}>
                Creates a key if there is none, and never replaces one. Needs Node.js 20.19 or
                later, which includes npx.
              </Tab>
            ),
          },
          {
            id: 'openssl',
            title: 'curl, openssl',
            content: (
              <Tab label="Commands for curl and openssl" text={opensslCommands(data)}>
                Needs a shell, curl and OpenSSL 3.
              </Tab>
            ),
          },
          {
            id: 'sentence',
            title: 'Prompt',
            content: (
              <Tab label="Prompt for the agent" text={sentenceForAgent(data)}>
                For an agent that can sign and send requests itself. Paste it into your chat with
                the agent.
              </Tab>
            ),
          },
        ]}
      />
      <TextField
        label="Label"
        hint="Private. It distinguishes agents that share a key. You cannot change it later."
        error={
          plain
            ? null
            : 'Use 1 to 128 letters, digits, dots, _ and -. Begin with a letter or digit.'
        }
        value={label}
        onChange={({ target }) => setLabel(target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
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
