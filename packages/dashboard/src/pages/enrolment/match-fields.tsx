import { MAX_MATCHES } from '@countersign/protocol'
import { useId, useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { SelectField, TextAreaField, TextField } from '../../components/field.tsx'
import type { ClaimDraft, DraftErrors } from './draft.ts'
import type { Preset } from './presets.ts'

interface MatchFieldsProps {
  readonly match: readonly ClaimDraft[]
  readonly preset: Preset | null
  readonly errors: DraftErrors | null
  readonly onChange: (match: readonly ClaimDraft[]) => void
}

/** The claims that a token must have, one a row. */
export function MatchFields({ match, preset, errors, onChange }: MatchFieldsProps) {
  const add = useRef<HTMLButtonElement>(null)
  const errorId = useId()
  const change = (row: number, part: Partial<ClaimDraft>) =>
    onChange(match.map((each) => (each.row === row ? { ...each, ...part } : each)))
  const problem = errors?.fields.match
  return (
    <fieldset className="flex min-w-0 flex-col gap-4" aria-describedby={errorId}>
      <legend className="mb-3 font-medium">Claims that the token must have</legend>
      {match.map((claim, at) => (
        <ClaimFields
          key={claim.row}
          number={at + 1}
          claim={claim}
          hint={preset?.claims[claim.pointer]}
          error={errors?.claims.get(claim.row)}
          onChange={(part) => change(claim.row, part)}
          onRemove={
            match.length > 1
              ? () => {
                  onChange(match.filter(({ row }) => row !== claim.row))
                  add.current?.focus()
                }
              : null
          }
        />
      ))}
      <p
        id={errorId}
        data-mistake
        tabIndex={-1}
        aria-live="polite"
        className="text-bad text-sm outline-hidden empty:hidden"
      >
        {problem}
      </p>
      {match.length < MAX_MATCHES && (
        <Button
          ref={add}
          size="small"
          className="self-start"
          onClick={() => {
            const row = Math.max(...match.map((each) => each.row)) + 1
            onChange([...match, { row, pointer: '', type: 'text', values: '' }])
          }}
        >
          Add a claim
        </Button>
      )}
    </fieldset>
  )
}

interface ClaimFieldsProps {
  readonly number: number
  readonly claim: ClaimDraft
  readonly hint: Preset['claims'][string] | undefined
  readonly error: { readonly pointer?: string; readonly values?: string } | undefined
  readonly onChange: (part: Partial<ClaimDraft>) => void
  /** Null for the only row. */
  readonly onRemove: (() => void) | null
}

function ClaimFields({ number, claim, hint, error, onChange, onRemove }: ClaimFieldsProps) {
  const { pointer, type, values } = claim
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset in a fieldset is read twice
    <div
      role="group"
      aria-label={`Claim ${number}`}
      className="flex flex-col gap-3 rounded-lg border border-line p-4"
    >
      <div className="grid gap-3 @xl:grid-cols-[minmax(0,1fr)_10rem]">
        <TextField
          label="Claim"
          error={error?.pointer}
          placeholder="/sub"
          className="font-mono"
          value={pointer}
          onChange={({ target }) => onChange({ pointer: target.value })}
          autoComplete="off"
          spellCheck={false}
        />
        <SelectField
          label="Type"
          value={type}
          onChange={({ target }) => onChange({ type: target.value as ClaimDraft['type'] })}
        >
          <option value="text">Text</option>
          <option value="true">Boolean: true</option>
          <option value="false">Boolean: false</option>
        </SelectField>
      </div>
      {type === 'text' && (
        <TextAreaField
          label="Value"
          hint={
            hint === undefined
              ? 'Compared exactly. With several lines, one of them must be equal.'
              : hint.hint
          }
          error={error?.values}
          placeholder={hint?.placeholder}
          className="break-all font-mono"
          rows={Math.max(1, values.split('\n').length)}
          value={values}
          onChange={({ target }) => onChange({ values: target.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
      {onRemove !== null && (
        <Button
          size="small"
          variant="quiet"
          className="self-start"
          aria-label={`Remove claim ${number}`}
          onClick={onRemove}
        >
          Remove
        </Button>
      )}
    </div>
  )
}
