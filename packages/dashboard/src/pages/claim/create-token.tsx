import { MAX_CLAIM_TOKENS } from '@countersign/protocol'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import type { Creating } from './use-claim-tokens.ts'

interface CreateTokenProps {
  /** Whether the previous tokens have expired. */
  readonly expired: boolean
  readonly creating: Creating
}

export function CreateToken({ expired, creating }: CreateTokenProps) {
  return (
    <Section
      title="Create a claim token"
      lead="An agent redeems it to get a certificate that names you as its owner."
    >
      {expired && (
        <Note tone="warn">
          The previous token has expired. Create a new one when the agent is ready.
        </Note>
      )}
      <ul className="list-disc space-y-1.5 pl-5 text-pretty">
        <li>It redeems one certificate and expires after ten minutes.</li>
        <li>It is shown only once. A new token invalidates the previous one.</li>
        <li>A claim that fails does not use it up.</li>
      </ul>
      <Button
        variant="primary"
        className="self-start"
        pending={creating.pending}
        onClick={() => creating.run(1)}
      >
        Create claim token
      </Button>
      <ErrorNote error={creating.error} />
      <details className="border-line border-t pt-4">
        <summary className="w-fit cursor-pointer rounded-lg py-2 text-soft hover:text-ink">
          Create tokens for several agents
        </summary>
        <BatchForm creating={creating} />
      </details>
    </Section>
  )
}

function BatchForm({ creating }: { readonly creating: Creating }) {
  const [text, setText] = useState('10')
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  const valid = count >= 1 && count <= MAX_CLAIM_TOKENS
  return (
    <form
      onSubmit={submitHandler(() => valid && creating.run(count))}
      className="mt-3 flex max-w-md flex-col gap-4"
    >
      <TextField
        label="Number of tokens"
        hint="They all expire after ten minutes. The next token or batch invalidates the unused ones."
        error={valid || text === '' ? null : `Enter a number from 1 to ${MAX_CLAIM_TOKENS}.`}
        value={text}
        onChange={({ target }) => setText(target.value.trim())}
        inputMode="numeric"
        autoComplete="off"
      />
      <Button type="submit" className="self-start" pending={creating.pending} disabled={!valid}>
        Create claim tokens
      </Button>
    </form>
  )
}
