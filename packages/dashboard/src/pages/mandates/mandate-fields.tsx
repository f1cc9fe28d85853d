import {
  hundredthsOf,
  MAX_MANDATE_DAYS,
  MAX_MANDATE_USES_PER_DAY,
  visibleText,
} from '@countersign/protocol'
import { SelectField, TextField } from '../../components/field.tsx'
import type { ShownRequest } from '../approvals/shown-request.ts'
import {
  amountsIn,
  dayIn,
  labelOf,
  type MandateForm,
  pathsLike,
  type RuleInput,
} from './mandate-form.ts'

interface MandateFieldsProps {
  /** The request that was approved. */
  readonly shown: ShownRequest
  readonly form: MandateForm
  readonly onChange: (form: MandateForm) => void
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Which requests are like the approved one. */
export function MandateFields({ shown, form, onChange, now }: MandateFieldsProps) {
  const change = (part: Partial<MandateForm>) => onChange({ ...form, ...part })
  const changeRule = (pointer: string, rule: RuleInput) => {
    const rules = { ...form.rules, [pointer]: rule }
    // The first amount is also added up, unless the person chooses otherwise.
    const isFirst = rule.kind === 'atMost' && amountsIn(form).length === 0
    change({ rules, ...(isFirst && { totalOf: pointer }) })
  }
  const amounts = amountsIn(form)
  return (
    <div className="flex flex-col gap-5">
      <SelectField
        label="Path"
        value={form.path}
        onChange={({ target }) => change({ path: target.value })}
      >
        {pathsLike(shown.url).map((path) => (
          <option key={path} value={path}>
            {visibleText(path)}
          </option>
        ))}
      </SelectField>
      {shown.rows?.map(([pointer, text]) => (
        <RuleFields
          key={pointer}
          label={labelOf(pointer)}
          text={text}
          rule={form.rules[pointer] as RuleInput}
          onChange={(rule) => changeRule(pointer, rule)}
        />
      ))}
      {amounts.length > 0 && <TotalFields amounts={amounts} form={form} onChange={change} />}
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Requests in 24 hours"
          hint={`1 to ${MAX_MANDATE_USES_PER_DAY}`}
          inputMode="numeric"
          autoComplete="off"
          value={form.perDay}
          onChange={({ target }) => change({ perDay: target.value.trim() })}
        />
        <TextField
          label="Valid until"
          hint={`00:00 UTC, at most ${MAX_MANDATE_DAYS} days ahead`}
          type="date"
          min={dayIn(1, now)}
          max={dayIn(MAX_MANDATE_DAYS, now)}
          value={form.until}
          onChange={({ target }) => change({ until: target.value })}
        />
      </div>
    </div>
  )
}

interface RuleFieldsProps {
  readonly label: string
  /** The approved value. */
  readonly text: string
  readonly rule: RuleInput
  readonly onChange: (rule: RuleInput) => void
}

function RuleFields({ label, text, rule, onChange }: RuleFieldsProps) {
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <SelectField
        label={label}
        hint={
          <>
            Approved: <bdi className="whitespace-pre-wrap font-mono">{text}</bdi>
          </>
        }
        value={rule.kind}
        onChange={({ target }) => onChange({ ...rule, kind: target.value as RuleInput['kind'] })}
      >
        <option value="equals">This value</option>
        {hundredthsOf(text) !== null && <option value="atMost">At most</option>}
        <option value="any">Anything</option>
      </SelectField>
      {rule.kind === 'atMost' && (
        <AmountField
          label={`Highest ${label}`}
          value={rule.atMost}
          onChange={(atMost) => onChange({ ...rule, atMost })}
        />
      )}
    </div>
  )
}

interface TotalFieldsProps {
  /** Pointers of values. */
  readonly amounts: readonly string[]
  readonly form: MandateForm
  readonly onChange: (part: Partial<MandateForm>) => void
}

function TotalFields({ amounts, form, onChange }: TotalFieldsProps) {
  const chosen = form.totalOf !== null && amounts.includes(form.totalOf) ? form.totalOf : ''
  return (
    <>
      <SelectField
        label="Total of"
        value={chosen}
        onChange={({ target }) => onChange({ totalOf: target.value || null })}
      >
        {amounts.map((pointer) => (
          <option key={pointer} value={pointer}>
            {labelOf(pointer)}
          </option>
        ))}
        <option value="">No total</option>
      </SelectField>
      {chosen !== '' && (
        <div className="grid gap-5 sm:grid-cols-2">
          <AmountField
            label="Total amount"
            value={form.totalAmount}
            onChange={(totalAmount) => onChange({ totalAmount })}
          />
          <TextField
            label="In how many days"
            hint={`1 to ${MAX_MANDATE_DAYS}`}
            inputMode="numeric"
            autoComplete="off"
            value={form.totalDays}
            onChange={({ target }) => onChange({ totalDays: target.value.trim() })}
          />
        </div>
      )}
    </>
  )
}

interface AmountFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function AmountField({ label, value, onChange }: AmountFieldProps) {
  return (
    <TextField
      label={label}
      hint="An amount such as 50.00"
      inputMode="decimal"
      autoComplete="off"
      value={value}
      onChange={({ target }) => onChange(target.value.trim())}
    />
  )
}
