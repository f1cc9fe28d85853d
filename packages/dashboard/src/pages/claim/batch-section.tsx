import { toCsv } from '../../agents/csv.ts'
import { useService } from '../../agents/use-service.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton, CopyField } from '../../components/copy-field.tsx'
import { Countdown } from '../../components/countdown.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { saveFile } from '../../components/save-file.ts'
import type { ClaimTokens, Creating } from './use-claim-tokens.ts'

interface BatchSectionProps {
  readonly tokens: ClaimTokens
  /** In seconds. */
  readonly left: number
  /** The number of agents that were claimed. */
  readonly claimed: number
  readonly creating: Creating
}

/** Shows a batch of tokens, which is displayed only once. */
export function BatchSection({ tokens, left, claimed, creating }: BatchSectionProps) {
  const { cliPackage, baseUrl } = useService()
  const { values } = tokens
  const expiresAt = new Date(tokens.expiresAt).toISOString()
  const text = `${values.join('\n')}\n`
  const csv = toCsv(
    ['claim_token', 'expires_at'],
    values.map((value) => [value, expiresAt]),
  )
  return (
    <Section
      title={`${values.length} claim tokens`}
      lead="Shown only once. Treat them like passwords. Each token redeems one certificate."
    >
      <Countdown left={left} total={tokens.seconds} of="the agents" />
      <p role="status" className="font-medium">
        {claimed} of {values.length} agents claimed
      </p>
      <div className="flex flex-wrap gap-3">
        <CopyButton value={text} label="Copy all claim tokens" text="Copy all" />
        <Button size="small" onClick={() => saveFile('claim-tokens.txt', text, 'text/plain')}>
          Download as text
        </Button>
        <Button size="small" onClick={() => saveFile('claim-tokens.csv', csv, 'text/csv')}>
          Download as CSV
        </Button>
      </div>
      {/* Focusable, so that keyboard users can scroll it. */}
      <section
        aria-label="Claim tokens"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-64 overflow-y-auto rounded-lg border border-line bg-sunken px-3 py-2.5"
      >
        <ol className="flex flex-col gap-1 font-mono text-[0.8125rem] leading-6">
          {values.map((value) => (
            <li key={value} className="wrap-break-word">
              {value}
            </li>
          ))}
        </ol>
      </section>
      <CopyField
        label="Command on each machine"
        lines
        value={`npx -y ${cliPackage} claim <token> \\\n  --url ${baseUrl} \\\n  --create-key`}
      />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button size="small" pending={creating.pending} onClick={() => creating.run(values.length)}>
          Create another batch
        </Button>
        <span className="text-soft text-sm">This invalidates the unused tokens above.</span>
      </div>
      <ErrorNote error={creating.error} />
    </Section>
  )
}
