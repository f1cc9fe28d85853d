import { useState } from 'react'
import { SelectField, TextField } from '../components/field.tsx'
import { REASON_PATTERN, REASONS } from './reasons.ts'

const CUSTOM = 'own'

interface ReasonState {
  readonly choice: string
  readonly custom: string
  /** The reason to send; null if none was entered. */
  readonly reason: string | null
  /** Whether the form can be submitted with it. */
  readonly valid: boolean
  readonly choose: (choice: string) => void
  readonly setCustomReason: (custom: string) => void
}

/** State of the field for the reason of a status change. */
export function useReason(): ReasonState & { readonly reset: () => void } {
  const [choice, choose] = useState('')
  const [custom, setCustom] = useState('')
  return {
    choice,
    custom,
    reason: (choice === CUSTOM ? custom : choice) || null,
    valid: choice !== CUSTOM || REASON_PATTERN.test(custom),
    choose,
    // The service accepts a single word, but people type several.
    setCustomReason: (text) => setCustom(text.toLowerCase().replaceAll(/\s/g, '_')),
    reset: () => {
      choose('')
      setCustom('')
    },
  }
}

/** Lets the owner select a common reason or enter one. */
export function ReasonField({ state }: { readonly state: ReasonState }) {
  const { choice, custom, choose, setCustomReason, valid } = state
  return (
    <>
      <SelectField
        label="Reason"
        hint="Public: the certificate shows it."
        value={choice}
        onChange={({ target }) => choose(target.value)}
      >
        <option value="">None</option>
        {Object.entries(REASONS).map(([word, meaning]) => (
          <option key={word} value={word}>
            {meaning} ({word})
          </option>
        ))}
        <option value={CUSTOM}>Custom …</option>
      </SelectField>
      {choice === CUSTOM && (
        <TextField
          label="Custom reason"
          hint="At most 64 lower-case letters, digits, _ and -. Begin with a letter."
          error={
            custom === '' || valid
              ? null
              : 'Use at most 64 lower-case letters, digits, _ and -. Begin with a letter.'
          }
          value={custom}
          onChange={({ target }) => setCustomReason(target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
      )}
    </>
  )
}
