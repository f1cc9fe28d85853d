import { useState } from 'react'
import { SelectField, TextField } from '../parts/field.tsx'
import { REASON_PATTERN, REASONS } from './reasons.ts'

const OWN = 'own'

interface ReasonState {
  readonly choice: string
  readonly own: string
  /** What is to be sent; null where none is given. */
  readonly reason: string | null
  /** Whether it may be sent so. */
  readonly valid: boolean
  readonly choose: (choice: string) => void
  readonly write: (own: string) => void
}

/** Why an agent's status changes. */
export function useReason(): ReasonState & { readonly reset: () => void } {
  const [choice, choose] = useState('')
  const [own, setOwn] = useState('')
  return {
    choice,
    own,
    reason: (choice === OWN ? own : choice) || null,
    valid: choice !== OWN || REASON_PATTERN.test(own),
    choose,
    // People write words with spaces between them; programs switch on one word.
    write: (text) => setOwn(text.toLowerCase().replaceAll(/\s/g, '_')),
    reset: () => {
      choose('')
      setOwn('')
    },
  }
}

/** A few reasons to choose from, or a word of one's own. */
export function ReasonField({ state }: { readonly state: ReasonState }) {
  const { choice, own, choose, write, valid } = state
  return (
    <>
      <SelectField
        label="Reason"
        hint="Everyone can see it on the certificate."
        value={choice}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">None given</option>
        {Object.entries(REASONS).map(([word, meaning]) => (
          <option key={word} value={word}>
            {meaning} ({word})
          </option>
        ))}
        <option value={OWN}>A word of your own …</option>
      </SelectField>
      {choice === OWN && (
        <TextField
          label="Your word"
          hint="At most 64 lower-case letters, digits, _ and -, beginning with a letter."
          error={own === '' || valid ? null : 'This word has something else in it, or is too long.'}
          value={own}
          onChange={({ target }) => write(target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
      )}
    </>
  )
}
