import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Countdown } from './countdown.tsx'
import type { ClaimToken, Making } from './use-claim-token.ts'

interface TokenSectionProps {
  readonly token: ClaimToken
  /** In seconds. */
  readonly left: number
  readonly making: Making
}

/** Shows the token, which is displayed only once. */
export function TokenSection({ token, left, making }: TokenSectionProps) {
  return (
    <Section
      title="Your claim token"
      lead="Shown this once. Treat it as a password: whoever has it can become an agent of yours."
    >
      <CopyField label="Claim token" value={token.value} />
      <Countdown left={left} total={token.seconds} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button size="small" pending={making.pending} onClick={making.run}>
          Make another token
        </Button>
        <span className="text-soft text-sm">
          A new token ends this one. Keep this page open: it says so when the agent has claimed.
        </span>
      </div>
      <ErrorNote error={making.error} />
    </Section>
  )
}
