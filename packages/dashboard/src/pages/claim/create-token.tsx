import { Button } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import type { Making } from './use-claim-token.ts'

interface CreateTokenProps {
  /** Whether the previous token has expired. */
  readonly expired: boolean
  readonly making: Making
}

export function CreateToken({ expired, making }: CreateTokenProps) {
  return (
    <Section
      title="Make a token"
      lead="A claim token is a secret that lets one agent put your name behind it."
    >
      {expired && (
        <Note tone="warn">
          The token has expired, and no agent has claimed with it. Make a new one when the agent is
          ready.
        </Note>
      )}
      <ul className="list-disc space-y-1.5 pl-5 text-pretty">
        <li>It is good for one agent, once, for ten minutes.</li>
        <li>It is shown once. A new token ends the one before it.</li>
        <li>A claim that fails does not use it up.</li>
      </ul>
      <Button
        variant="primary"
        className="self-start"
        pending={making.pending}
        onClick={making.run}
      >
        {expired ? 'Make a new claim token' : 'Make a claim token'}
      </Button>
      <ErrorNote error={making.error} />
    </Section>
  )
}
