import { type CallerKind, fieldOf } from '../console/console-form.ts'
import { Choice, Columns, Group, Lines, Text, useForm } from './console-form-parts.tsx'
import type { PageContext } from './context.ts'

const CALLER_LABELS: readonly (readonly [caller: CallerKind, label: string])[] = [
  ['signature', 'An agent that signs it'],
  ['session', 'An agent with a session of your site'],
  ['header', 'An agent that only names itself'],
  ['none', 'A caller without identification'],
  ['directory', 'A signer of the first trusted directory'],
  ['pasted', 'The headers that I paste'],
]

export function RequestFields({ context }: { readonly context: PageContext }) {
  const { form } = useForm()
  const { idHeader } = context.site.naming
  return (
    <Group title="3. Request">
      <Columns>
        <Choice name="caller" label="Sent by" options={CALLER_LABELS} />
        <Text
          name="agent"
          label="Agent"
          hint="Username or DID. Empty: a sample agent of a verified owner."
          code={false}
        />
      </Columns>
      <div className="grid gap-5 sm:grid-cols-[8rem_minmax(0,1fr)]">
        <Text name="method" label="Method" />
        <Text name="url" label="URL or path (optional)" placeholder="https://shop.example/orders" />
      </div>
      <Lines
        name="headers"
        label="Headers of a captured request (optional)"
        hint={`For “The headers that I paste”. One “Name: value” a line. The ${idHeader} header and the signature count. Leave out cookies and other secrets.`}
        rows={5}
      />
      <label className="flex items-center gap-3">
        <input
          type="checkbox"
          name="away"
          value="yes"
          defaultChecked={fieldOf(form, 'away') !== ''}
          className="size-5 shrink-0 accent-accent"
        />
        The service has become unreachable since the last request
      </label>
    </Group>
  )
}
