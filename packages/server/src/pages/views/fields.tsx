/** Fields of forms, with their labels. */

import type { ReactNode } from 'react'

const BOX =
  'w-full rounded-lg border border-line-strong bg-surface px-4 text-ink placeholder:text-soft hover:border-accent aria-invalid:border-bad aria-invalid:ring-1 aria-invalid:ring-bad'

export interface FieldProps {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly value?: string
  /** Monospaced and without autocorrection, for keys and signatures. */
  readonly code?: boolean
  readonly optional?: boolean
  readonly placeholder?: string
  /** What is wrong with the value, in a sentence; empty: nothing. It is shown below the field, also when a script updates it. */
  readonly error?: string
}

interface TextAreaProps extends FieldProps {
  readonly rows?: number
}

export function TextField(props: FieldProps) {
  const { id, name, hint, value, placeholder, error, code = false, optional = false } = props
  return (
    <Field {...props} className="flex-1">
      <input
        id={id}
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        required={!optional}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        {...described(id, hint, error)}
        className={`h-12 ${BOX} ${code ? 'font-mono text-sm' : ''}`}
      />
    </Field>
  )
}

export function TextArea(props: TextAreaProps) {
  const { id, name, hint, value, placeholder, error, rows = 3, optional = false } = props
  return (
    <Field {...props}>
      <textarea
        id={id}
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        required={!optional}
        rows={rows}
        autoComplete="off"
        spellCheck={false}
        {...described(id, hint, error)}
        className={`block py-3 font-mono text-sm ${BOX}`}
      />
    </Field>
  )
}

function described(id: string, hint: string | undefined, error: string | undefined) {
  const ids = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ]
  return {
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': error === undefined ? undefined : error !== '',
  }
}

interface FieldFrameProps extends Pick<FieldProps, 'id' | 'label' | 'hint' | 'error'> {
  readonly className?: string
  readonly children: ReactNode
}

/** A control with its label, hint and error. */
function Field({ id, label, hint, error, className = '', children }: FieldFrameProps) {
  return (
    <div className={`min-w-0 space-y-1.5 ${className}`}>
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </p>
      )}
      {children}
      {error !== undefined && (
        <p
          id={`${id}-error`}
          data-part
          aria-live="polite"
          className="text-sm font-medium text-bad wrap-anywhere"
        >
          {error}
        </p>
      )}
    </div>
  )
}

export function SubmitButton({ children }: { readonly children: string }) {
  return (
    <button
      type="submit"
      className="h-12 shrink-0 cursor-pointer rounded-lg bg-accent px-6 font-semibold text-on-accent hover:bg-accent-strong"
    >
      {children}
    </button>
  )
}

/** A form with one agent reference, which leads to the check page. */
export function AgentForm({ value, label }: { readonly value?: string; readonly label: string }) {
  return (
    <form method="get" action="/check" className="space-y-2">
      <label htmlFor="agent" className="block font-medium">
        {label}
      </label>
      <div className="flex flex-wrap gap-3">
        <input
          id="agent"
          name="agent"
          defaultValue={value}
          required
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-describedby="agent-hint"
          className={`h-12 min-w-0 flex-[1_1_9rem] ${BOX}`}
        />
        <SubmitButton>Look up</SubmitButton>
      </div>
      <p id="agent-hint" className="text-sm text-soft">
        Username, DID, public key, or address of the certificate
      </p>
    </form>
  )
}
