/** Fields of forms, with their labels. */

const BOX =
  'w-full rounded-lg border border-line-strong bg-surface px-4 text-ink placeholder:text-soft hover:border-accent'

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
}

interface TextAreaProps extends FieldProps {
  readonly rows?: number
}

export function TextField(props: FieldProps) {
  const { id, name, label, hint, value, placeholder, code = false, optional = false } = props
  return (
    <div className="min-w-0 flex-1 space-y-1.5">
      <Label id={id} label={label} hint={hint} />
      <input
        id={id}
        name={name}
        defaultValue={value}
        placeholder={placeholder}
        required={!optional}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className={`h-12 ${BOX} ${code ? 'font-mono text-sm' : ''}`}
      />
    </div>
  )
}

export function TextArea(props: TextAreaProps) {
  const { id, name, label, hint, value, rows = 3, optional = false } = props
  return (
    <div className="min-w-0 space-y-1.5">
      <Label id={id} label={label} hint={hint} />
      <textarea
        id={id}
        name={name}
        defaultValue={value}
        required={!optional}
        rows={rows}
        autoComplete="off"
        spellCheck={false}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className={`block py-3 font-mono text-sm ${BOX}`}
      />
    </div>
  )
}

interface SelectFieldProps extends Pick<FieldProps, 'id' | 'name' | 'label' | 'hint' | 'value'> {
  /** Values with their labels. The first one is selected without a `value`, or with another one. */
  readonly options: readonly (readonly [value: string, label: string])[]
}

export function SelectField({ id, name, label, hint, value, options }: SelectFieldProps) {
  const selected = options.find(([each]) => each === value) ?? options[0]
  return (
    <div className="min-w-0 space-y-1.5">
      <Label id={id} label={label} hint={hint} />
      <select
        id={id}
        name={name}
        defaultValue={selected?.[0]}
        autoComplete="off"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className={`h-12 ${BOX}`}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface LabelProps {
  readonly id: string
  readonly label: string
  readonly hint: string | undefined
}

function Label({ id, label, hint }: LabelProps) {
  return (
    <>
      <label htmlFor={id} className="block font-medium">
        {label}
      </label>
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </p>
      )}
    </>
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
          className={`h-12 min-w-0 flex-1 ${BOX}`}
        />
        <SubmitButton>Look up</SubmitButton>
      </div>
      <p id="agent-hint" className="text-sm text-soft">
        Username, DID, public key, or address of the certificate
      </p>
    </form>
  )
}
