import { type ReactNode, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { useAction } from '../../components/use-action.ts'
import { draftErrors, type RuleDraft } from './draft.ts'
import type { Preset } from './presets.ts'
import { RuleFields } from './rule-fields.tsx'

/** A field, or the text below a group of fields. */
const MISTAKE = '[aria-invalid=true], [data-mistake]:not(:empty)'

interface RuleFormProps {
  readonly draft: RuleDraft
  readonly preset: Preset | null
  readonly isFixed?: boolean
  /** Shown above the fields. */
  readonly children?: ReactNode
  readonly action: string
  readonly onChange: (part: Partial<RuleDraft>) => void
  readonly onSubmit: () => Promise<unknown>
}

/** The form of a rule. Mistakes are shown after the first attempt to send it, which moves the focus to the first one. */
export function RuleForm({
  draft,
  preset,
  isFixed = false,
  children,
  action,
  onChange,
  onSubmit,
}: RuleFormProps) {
  const [isChecked, setChecked] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const errors = draftErrors(draft)
  const submit = useAction(async () => {
    setChecked(true)
    if (errors === null) return onSubmit()
    // The fields have their marks after the next render.
    requestAnimationFrame(() => {
      form.current?.querySelector<HTMLElement>(MISTAKE)?.focus()
    })
  })
  return (
    <form
      ref={form}
      noValidate
      onSubmit={submitHandler(submit.run)}
      className="flex flex-col gap-8"
    >
      {children}
      <RuleFields
        draft={draft}
        errors={isChecked ? errors : null}
        preset={preset}
        isFixed={isFixed}
        onChange={onChange}
      />
      <div className="flex flex-col items-start gap-4">
        <p role="status" className="text-bad empty:hidden">
          {isChecked && errors !== null && 'Correct the fields that are marked.'}
        </p>
        <ErrorNote error={submit.error} />
        <Button type="submit" variant="primary" pending={submit.pending}>
          {action}
        </Button>
      </div>
    </form>
  )
}
