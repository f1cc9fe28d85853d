import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import type { ClaimTokens, Creating } from './use-claim-tokens.ts'

interface TokenSectionProps {
  readonly tokens: ClaimTokens
  /** In seconds. */
  readonly left: number
  readonly creating: Creating
}

/** Shows the token, which is displayed only once. */
export function TokenSection({ tokens, left, creating }: TokenSectionProps) {
  return (
    <Section
      title="Your claim token"
      lead="Shown only once. Treat it like a password: anyone who has it can claim an agent in your name."
    >
      <Countdown left={left} total={tokens.seconds} />
      <CopyField label="Claim token" value={tokens.values[0] as string} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button size="small" pending={creating.pending} onClick={() => creating.run(1)}>
          Create another token
        </Button>
        <span className="text-soft text-sm">This invalidates the token above.</span>
      </div>
      <ErrorNote error={creating.error} />
    </Section>
  )
}
