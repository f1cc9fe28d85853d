/** Fields of forms, with their labels. */

import type { ReactNode } from 'react'

const BOX = 'w-full rounded-lg border bg-surface px-4 text-ink placeholder:text-soft'

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
  /** What is wrong with the value, in sentences. */
  readonly errors?: readonly string[] | undefined
  /** Shows the hint below the field, so that fields side by side are level. */
  readonly level?: boolean
}

interface TextAreaProps extends FieldProps {
  readonly rows?: number
}

export function TextField(props: FieldProps) {
  const { id, name, hint, value, placeholder, errors, code = false, optional = false } = props
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
        {...described(id, hint, errors)}
        className={`h-12 ${boxOf(errors)} ${code ? 'font-mono text-sm' : ''}`}
      />
    </Field>
  )
}

export function TextArea(props: TextAreaProps) {
  const { id, name, hint, value, placeholder, errors, rows = 3, optional = false } = props
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
        {...described(id, hint, errors)}
        className={`block py-3 font-mono text-sm ${boxOf(errors)}`}
      />
    </Field>
  )
}

interface SelectFieldProps
  extends Pick<FieldProps, 'id' | 'name' | 'label' | 'hint' | 'value' | 'errors' | 'level'> {
  /** Values with their labels. The first one is selected without a `value`, or with another one. */
  readonly options: readonly (readonly [value: string, label: string])[]
}

export function SelectField(props: SelectFieldProps) {
  const { id, name, hint, value, errors, options } = props
  const selected = options.find(([each]) => each === value) ?? options[0]
  return (
    <Field {...props}>
      <select
        id={id}
        name={name}
        defaultValue={selected?.[0]}
        autoComplete="off"
        {...described(id, hint, errors)}
        className={`h-12 ${boxOf(errors)}`}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  )
}

type ErrorsOf = FieldProps['errors']

function hasErrors(errors: ErrorsOf): errors is readonly string[] {
  return errors !== undefined && errors.length > 0
}

function boxOf(errors: ErrorsOf): string {
  return `${BOX} ${hasErrors(errors) ? 'border-2 border-bad' : 'border-line-strong hover:border-accent'}`
}

function described(id: string, hint: string | undefined, errors: ErrorsOf) {
  const ids = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(hasErrors(errors) ? [`${id}-error`] : []),
  ]
  return {
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': hasErrors(errors) || undefined,
  }
}

function Errors({ id, errors }: { readonly id: string; readonly errors: ErrorsOf }) {
  if (!hasErrors(errors)) return null
  return (
    <p id={`${id}-error`} className="text-sm font-medium text-bad wrap-anywhere">
      {errors.map((each) => (
        <span key={each} className="block">
          {each}
        </span>
      ))}
    </p>
  )
}

interface FieldFrameProps extends Pick<FieldProps, 'id' | 'label' | 'hint' | 'errors' | 'level'> {
  readonly className?: string
  readonly children: ReactNode
}

/** A control with its label, hint and errors. */
function Field({ id, label, hint, errors, level, className = '', children }: FieldFrameProps) {
  const hintText = hint !== undefined && (
    <p id={`${id}-hint`} className="text-sm text-soft">
      {hint}
    </p>
  )
  return (
    <div className={`min-w-0 space-y-1.5 ${className}`}>
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {!level && hintText}
      {children}
      <Errors id={id} errors={errors} />
      {level && hintText}
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
      <div className="flex gap-3">
        <input
          id="agent"
          name="agent"
          defaultValue={value}
          required
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-describedby="agent-hint"
          className={`h-12 min-w-0 flex-1 ${boxOf(undefined)}`}
        />
        <SubmitButton>Look up</SubmitButton>
      </div>
      <p id="agent-hint" className="text-sm text-soft">
        Username, DID, public key, or address of the certificate
      </p>
    </form>
  )
}
