import { type CallerKind, type ConsoleForm, fieldOf } from '../console/console-form.ts'
import type { FieldMistakes } from '../console/field-mistakes.ts'
import type { ConsoleState } from '../console/simulate.ts'
import { CheckTabs } from './check-parts.tsx'
import { ConsoleAnswerView } from './console-answer.tsx'
import { PolicyFields, RouteFields } from './console-fields.tsx'
import {
  Choice,
  Columns,
  FormProvider,
  Group,
  Lines,
  Text,
  useForm,
} from './console-form-parts.tsx'
import { SubmitButton } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

interface ConsoleData extends ConsoleState {
  /** As `npm install` takes it. */
  readonly gatewayPackage: string
}

/** Configures a gateway by form, and shows its decision on a request. */
export function consolePage(context: PageContext, data: ConsoleData): string {
  const { serviceName } = context
  const { answer } = data
  const form = formToShow(data)
  const mistakes = mistakesIn(data)
  return htmlOf(
    <Shell
      context={context}
      title={`Gateway console · ${serviceName}`}
      description={`Choose which agents of ${serviceName} your site admits, try the policy, and copy the configuration.`}
      path="/console"
    >
      <CheckTabs path="/console" />
      <h1 className="mt-8 max-w-3xl text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
        Gateway console
      </h1>
      <p className="mt-4 max-w-2xl text-lg/8 text-pretty">
        Choose which agents your site admits, see the decision on a request, and copy the
        configuration for your framework or proxy. Decisions are made by the code of the{' '}
        <a href="/docs/gateways" className="text-accent underline underline-offset-4">
          gateway
        </a>{' '}
        itself.
      </p>
      {answer !== null && (
        <section id="result" aria-label="Result" className="mt-10 max-w-3xl scroll-mt-6">
          <ConsoleAnswerView answer={answer} gatewayPackage={data.gatewayPackage} />
        </section>
      )}
      <form
        method="post"
        action="/console#result"
        className="mt-10 max-w-3xl space-y-10 border-t border-line pt-8"
      >
        {/* The Enter key presses the first button of a form, which would be one that changes it. */}
        <button type="submit" tabIndex={-1} aria-hidden="true" className="sr-only">
          Decide
        </button>
        <FormProvider form={form} mistakes={mistakes}>
          <PolicyFields />
          <RouteFields />
          <RequestFields context={context} />
        </FormProvider>
        <div className="space-y-4">
          <SubmitButton>Decide and show configuration</SubmitButton>
          <p className="text-sm/6 text-soft">
            Nothing is stored. The console does not contact your site or any other.
          </p>
        </div>
      </form>
    </Shell>,
  )
}

/** A claim token is a secret, which is not sent back. */
function formToShow({ form, answer }: ConsoleState): ConsoleForm {
  const isToken = answer?.kind === 'valid' && answer.simulation.kind === 'token'
  return isToken ? { ...form, fields: new Map([...form.fields, ['agent', '']]) } : form
}

function mistakesIn({ answer, problems }: ConsoleState): FieldMistakes {
  const inPolicy = answer?.kind === 'invalid' ? answer.mistakes.fields : new Map()
  if (problems.length === 0) return inPolicy
  return new Map([...inPolicy, ['json', problems] as const])
}

const CALLER_LABELS: readonly (readonly [caller: CallerKind, label: string])[] = [
  ['signature', 'An agent that signs it'],
  ['session', 'An agent with a session of your site'],
  ['header', 'An agent that only names itself'],
  ['none', 'A caller without identification'],
  ['directory', 'A signer of the first trusted directory'],
  ['pasted', 'The headers that I paste'],
]

function RequestFields({ context }: { readonly context: PageContext }) {
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
