import type { presetsFor } from '../console/console-form.ts'
import type { PolicyField } from '../console/policy-fields.ts'
import type { ConsoleState } from '../console/simulate.ts'
import { CheckTabs } from './check-parts.tsx'
import { ConsoleCallers } from './console-callers.tsx'
import { ConsoleCode } from './console-code.tsx'
import { PolicyEditor } from './console-editor.tsx'
import { TextArea, TextField } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

interface ConsoleData extends ConsoleState {
  readonly presets: ReturnType<typeof presetsFor>
  readonly fields: readonly PolicyField[]
  /** As `npm install` takes it. */
  readonly gatewayPackage: string
}

/**
 * A gateway's policy, what happens to each caller, and the code, on one screen. A script sends the form while somebody types, and
 * replaces the elements with `data-part`; without it, the form is sent with a button.
 */
export function consolePage(context: PageContext, data: ConsoleData): string {
  const { serviceName } = context
  const { form, policyFaults, fields, presets, result, gatewayPackage } = data
  return htmlOf(
    <Shell
      context={context}
      title={`Gateway console · ${serviceName}`}
      description={`Choose which agents of ${serviceName} your site admits, see what happens to each caller, and copy the code.`}
      path="/console"
      script={context.assets.consoleScript}
      wide
    >
      <CheckTabs path="/console" />
      <h1 className="mt-5 text-3xl/9 font-bold tracking-tight">Gateway console</h1>
      <p className="mt-1 text-pretty">
        Choose which agents your site admits, see what happens to each caller, and copy the code.
        The{' '}
        <a href="/docs/gateways" className="text-accent underline underline-offset-4">
          gateway
        </a>
        ’s own code decides.
      </p>
      <form method="post" action="/console" data-console className="mt-5 space-y-6">
        {/* The Enter key presses the first button of a form, which would be a preset. */}
        <button type="submit" tabIndex={-1} aria-hidden="true" className="sr-only">
          Update
        </button>
        <Presets presets={presets} />
        <div className="grid items-start gap-x-8 gap-y-6 lg:grid-cols-2 lg:grid-rows-[auto_1fr]">
          <PolicyEditor policy={form.policy} faults={policyFaults} fields={fields} />
          <div className="min-w-0 space-y-4 lg:row-span-2">
            <div className="grid items-start gap-x-4 gap-y-2 sm:grid-cols-2">
              <Field data={data} name="origin" label="Origin of your site" />
              <Field data={data} name="request" label="Request" placeholder="DELETE /orders/7" />
            </div>
            <ConsoleCallers result={result} form={form} />
            <MoreCallers data={data} idHeader={context.site.naming.idHeader} />
            <Actions link={data.link} />
          </div>
          <ConsoleCode result={result} target={form.target} gatewayPackage={gatewayPackage} />
        </div>
      </form>
    </Shell>,
  )
}

interface FieldProps {
  readonly data: ConsoleData
  readonly name: 'origin' | 'request' | 'agent'
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
}

function Field({ data: { form, faults }, name, ...props }: FieldProps) {
  return (
    <TextField
      {...props}
      id={name}
      name={name}
      value={form[name]}
      error={faults[name] ?? ''}
      code
      optional
    />
  )
}

interface MoreCallersProps {
  readonly data: ConsoleData
  readonly idHeader: string
}

/** Callers besides the samples, and a service that cannot be reached. */
function MoreCallers({ data: { form, faults, ...data }, idHeader }: MoreCallersProps) {
  const isOpen = form.agent !== '' || form.headers !== '' || faults.agent !== undefined
  return (
    <>
      <label className="flex items-center gap-3">
        <input
          type="checkbox"
          name="away"
          value="yes"
          defaultChecked={form.away !== ''}
          className="size-5 shrink-0 accent-accent"
        />
        The service has become unreachable since the last request
      </label>
      <details id="more" open={isOpen}>
        <summary className="cursor-pointer font-medium text-accent hover:text-accent-strong">
          Try an agent of yours or a captured request
        </summary>
        <div className="space-y-4 pt-3">
          <Field
            data={{ ...data, form, faults }}
            name="agent"
            label="Agent"
            hint="A username or DID. The console signs with a temporary key in place of the agent’s own."
          />
          <TextArea
            id="headers"
            name="headers"
            label="Headers of a captured request"
            hint={`One “Name: value” a line. The ${idHeader} header and the signature count. Leave out cookies and other secrets.`}
            value={form.headers}
            error={faults.headers ?? ''}
            rows={4}
            optional
          />
        </div>
      </details>
    </>
  )
}

function Actions({ link }: Pick<ConsoleData, 'link'>) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
        <button
          type="submit"
          className="min-h-10 cursor-pointer rounded-lg border border-line-strong bg-surface px-4 text-sm font-medium hover:border-accent hover:text-accent"
        >
          Update
        </button>
        <p id="link" data-part className="text-sm/6">
          {link === null ? (
            <span className="text-soft">This policy is too long for a link.</span>
          ) : (
            <a href={link} className="text-accent underline underline-offset-4">
              Link to this state
            </a>
          )}
        </p>
        <p
          data-failure="Not updated. Check your connection, then press Update."
          aria-live="polite"
          className="text-sm/6 font-medium text-warn"
        />
      </div>
      <p className="text-sm/6 text-soft">
        Nothing is stored. The console contacts neither your site nor any other. Links contain no
        captured headers and no query of the request.
      </p>
    </>
  )
}

function Presets({ presets }: Pick<ConsoleData, 'presets'>) {
  return (
    <fieldset id="presets" data-part className="grid gap-3 md:grid-cols-3">
      <legend className="sr-only">Start with a preset</legend>
      {presets.map(({ name, title, description, isCurrent }, index) => (
        <button
          key={name}
          type="submit"
          name="preset"
          value={name}
          aria-pressed={isCurrent}
          className="flex cursor-pointer flex-col rounded-xl border border-line-strong bg-surface px-4 py-2.5 text-left hover:border-accent aria-pressed:border-accent aria-pressed:bg-accent-wash aria-pressed:ring-1 aria-pressed:ring-accent"
        >
          <span className="flex flex-wrap items-baseline gap-x-2 font-semibold">
            {title}
            {index === 0 && <span className="text-sm font-medium text-good">Recommended</span>}
          </span>
          <span className="block text-sm/5 text-soft">{description}</span>
        </button>
      ))}
    </fieldset>
  )
}
