import { createContext, type ReactNode, useContext } from 'react'
import { type ConsoleForm, EMPTY_FORM, fieldOf } from '../console/console-form.ts'
import type { Edit } from '../console/edit-lists.ts'
import type { FieldMistakes } from '../console/field-mistakes.ts'
import { type FieldProps, SelectField, TextArea, TextField } from './fields.tsx'

interface FormState {
  readonly form: ConsoleForm
  readonly mistakes: FieldMistakes
  /** Whether one of the fields has a mistake, or differs from its default. */
  readonly hasContent: (names: readonly string[]) => boolean
}

const FormContext = createContext<FormState | null>(null)

interface FormProviderProps extends Omit<FormState, 'hasContent'> {
  readonly children: ReactNode
}

/** Gives all fields below it their values and mistakes. */
export function FormProvider({ form, mistakes, children }: FormProviderProps) {
  const hasContent = (names: readonly string[]) =>
    names.some((name) => mistakes.has(name) || fieldOf(form, name) !== fieldOf(EMPTY_FORM, name))
  return <FormContext value={{ form, mistakes, hasContent }}>{children}</FormContext>
}

export function useForm(): FormState {
  const state = useContext(FormContext)
  if (state === null) throw new Error('a field of the console is outside of its form')
  return state
}

function useField(name: string) {
  const { form, mistakes } = useForm()
  return { id: name, name, value: fieldOf(form, name), errors: mistakes.get(name) }
}

type NamedField = Pick<FieldProps, 'name' | 'label' | 'hint' | 'placeholder'>

export function Text({ code = true, ...props }: NamedField & { readonly code?: boolean }) {
  return <TextField {...props} {...useField(props.name)} code={code} optional level />
}

/** A list with an entry a line, or another longer text. */
export function Lines({ rows = 3, ...props }: NamedField & { readonly rows?: number }) {
  return <TextArea {...props} {...useField(props.name)} rows={rows} optional />
}

export type Options = readonly (readonly [value: string, label: string])[]

interface ChoiceProps extends Omit<NamedField, 'placeholder'> {
  readonly options: Options
}

/** A value that is none of the options, out of a pasted policy, is one more. */
export function Choice({ options, ...props }: ChoiceProps) {
  const field = useField(props.name)
  const isOption = options.some(([value]) => value === field.value)
  const all =
    isOption || field.value === '' ? options : [...options, [field.value, field.value] as const]
  return <SelectField {...props} {...field} options={all} level />
}

/** Fields in two columns. */
export function Columns({ children }: { readonly children: ReactNode }) {
  return <div className="grid items-start gap-5 sm:grid-cols-2">{children}</div>
}

interface GroupProps {
  readonly id?: string
  readonly title: string
  readonly children: ReactNode
}

export function Group({ id, title, children }: GroupProps) {
  return (
    <fieldset id={id} className="min-w-0 scroll-mt-6 space-y-5">
      <legend className="mb-5">
        <h2 className="text-2xl/8 font-semibold tracking-tight">{title}</h2>
      </legend>
      {children}
    </fieldset>
  )
}

interface MoreProps {
  readonly title: string
  readonly open: boolean
  readonly children: ReactNode
}

/** Fields that are seldom needed. */
export function More({ title, open, children }: MoreProps) {
  return (
    <details open={open}>
      <summary className="cursor-pointer py-1 font-medium text-accent hover:text-accent-strong">
        {title}
      </summary>
      <div className="space-y-5 pt-3">{children}</div>
    </details>
  )
}

interface EditButtonProps {
  readonly edit: Edit | 'load'
  /** The id to scroll to. */
  readonly to: string
  /** The accessible name, if it says more than the text. */
  readonly label?: string
  readonly disabled?: boolean
  readonly children: ReactNode
}

/** Sends the form to have it changed. */
export function EditButton({ edit, to, label, disabled, children }: EditButtonProps) {
  return (
    <button
      type="submit"
      name="edit"
      value={edit}
      formAction={`/console#${to}`}
      aria-label={label}
      disabled={disabled}
      className="inline-flex min-h-10 cursor-pointer items-center rounded-lg border border-line-strong bg-surface px-4 text-sm font-medium text-ink hover:border-accent hover:text-accent disabled:cursor-default disabled:opacity-40"
    >
      {children}
    </button>
  )
}
