import { type ComponentProps, type ReactNode, useId } from 'react'

interface FieldProps {
  readonly label: string
  /** What to enter. */
  readonly hint?: ReactNode
  /** What is wrong with the input. */
  readonly error?: string | null | undefined
  /** Shown at the right of the label, such as a character count. */
  readonly aside?: ReactNode
}

const CONTROL =
  'w-full min-w-0 rounded-lg border border-line-strong bg-surface px-3 py-2 text-base text-ink placeholder:text-soft aria-invalid:border-bad'

interface FrameProps extends FieldProps {
  readonly id: string
  readonly children: ReactNode
}

/** Label above, hint and error below the control. */
function Frame({ id, label, hint, error, aside, children }: FrameProps) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {aside && <span className="text-soft text-sm tabular-nums">{aside}</span>}
      </div>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="wrap-anywhere text-soft text-sm">
          {hint}
        </p>
      )}
      {/* Always rendered, so that screen readers announce a new error. */}
      <p id={`${id}-error`} aria-live="polite" className="text-bad text-sm empty:hidden">
        {error}
      </p>
    </div>
  )
}

function describe(id: string, { hint, error }: FieldProps) {
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return { 'aria-describedby': ids || undefined, 'aria-invalid': error ? true : undefined }
}

export function TextField({
  label,
  hint,
  error,
  aside,
  className = '',
  ...input
}: FieldProps & ComponentProps<'input'>) {
  const own = useId()
  const id = input.id ?? own
  const field = { label, hint, error, aside }
  return (
    <Frame id={id} {...field}>
      <input
        type="text"
        {...input}
        {...describe(id, field)}
        id={id}
        className={`${CONTROL} min-h-11 read-only:bg-sunken ${className}`}
      />
    </Frame>
  )
}

export function TextAreaField({
  label,
  hint,
  error,
  aside,
  className = '',
  ...area
}: FieldProps & ComponentProps<'textarea'>) {
  const own = useId()
  const id = area.id ?? own
  const field = { label, hint, error, aside }
  return (
    <Frame id={id} {...field}>
      <textarea
        rows={3}
        {...area}
        {...describe(id, field)}
        id={id}
        className={`${CONTROL} read-only:bg-sunken ${className}`}
      />
    </Frame>
  )
}

export function SelectField({
  label,
  hint,
  error,
  aside,
  className = '',
  children,
  ...select
}: FieldProps & ComponentProps<'select'>) {
  const own = useId()
  const id = select.id ?? own
  const field = { label, hint, error, aside }
  return (
    <Frame id={id} {...field}>
      <select
        {...select}
        {...describe(id, field)}
        id={id}
        className={`${CONTROL} min-h-11 cursor-pointer ${className}`}
      >
        {children}
      </select>
    </Frame>
  )
}

export function CheckField({
  label,
  ...input
}: { readonly label: ReactNode } & ComponentProps<'input'>) {
  return (
    <label className="flex min-h-11 cursor-pointer items-start gap-3 py-2">
      <input {...input} type="checkbox" className="mt-0.5 size-5 shrink-0 accent-accent" />
      <span>{label}</span>
    </label>
  )
}
