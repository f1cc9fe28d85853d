import type { Level } from '@countersign/gateway/internal'
import type { ReactNode } from 'react'
import type { CallerKind, ConsoleForm, LevelFields } from '../console/console-form.ts'
import type { PageContext } from './context.ts'
import { SelectField, TextArea, TextField } from './fields.tsx'

type Options = readonly (readonly [value: string, label: string])[]

const ROW = 'grid items-end gap-5 sm:grid-cols-2'

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <fieldset className="min-w-0 space-y-5">
      <legend className="mb-5 text-2xl/8 font-semibold tracking-tight">{title}</legend>
      {children}
    </fieldset>
  )
}

const LEVEL_LABELS: readonly (readonly [level: Level, label: string])[] = [
  ['none', 'No identification'],
  ['unknown', 'Unknown agent'],
  ['unverified', 'Agent of an unverified owner'],
  ['verified', 'Agent of a verified owner'],
  ['directory', 'Key of the trusted directory'],
]

const ACTIONS: Options = [
  ['allow', 'Allow'],
  ['limit', 'Allow within the rate limit'],
  ['deny', 'Refuse'],
]

/** Of a route, which can leave a field to the rest of the policy. */
const SAME = ['', 'Same as the policy'] as const

interface LevelSelectsProps {
  readonly levels: LevelFields
  readonly prefix: string
  readonly options: Options
}

function LevelSelects({ levels, prefix, options }: LevelSelectsProps) {
  return LEVEL_LABELS.map(([level, label]) => (
    <SelectField
      key={level}
      id={`${prefix}.${level}`}
      name={`${prefix}.${level}`}
      label={label}
      value={levels[level]}
      options={options}
    />
  ))
}

export function PolicyFields({ form }: { readonly form: ConsoleForm }) {
  return (
    <Group title="1. Policy">
      <div className={ROW}>
        <TextField
          id="origin"
          name="origin"
          label="Origin of your site"
          hint="Signatures count only for this origin."
          value={form.origin}
          code
          optional
        />
        <SelectField
          id="mode"
          name="mode"
          label="Mode"
          hint="Shadow mode logs decisions and refuses nothing."
          value={form.mode}
          options={[
            ['enforce', 'Enforce'],
            ['shadow', 'Shadow'],
          ]}
        />
        <LevelSelects levels={form.levels} prefix="levels" options={ACTIONS} />
        <SelectField
          id="requireProof"
          name="requireProof"
          label="Proof of possession"
          value={form.requireProof}
          options={[
            ['false', 'Not required'],
            ['true', 'Required: a signature or a session'],
          ]}
        />
        <SelectField
          id="minimumGrade"
          name="minimumGrade"
          label="Minimum grade"
          value={form.minimumGrade}
          options={[
            ['', 'Any grade'],
            ...['A', 'B', 'C', 'D', 'E'].map((each) => [each, each] as const),
          ]}
        />
      </div>
      <details className="space-y-5" open={form.directory !== ''}>
        <Summary>Rate limit, unreachable service, trusted directory</Summary>
        <div className={`${ROW} pt-2`}>
          <TextField
            id="requests"
            name="requests"
            label="Rate limit: requests"
            value={form.requests}
            optional
          />
          <TextField
            id="seconds"
            name="seconds"
            label="Rate limit: seconds"
            value={form.seconds}
            optional
          />
          <SelectField
            id="unreachable"
            name="unreachable"
            label="If the service is unreachable"
            value={form.unreachable}
            options={[
              ['deny', 'Refuse (503)'],
              ['stale', 'Use the last answer'],
              ['flag', 'Allow and flag'],
              ['allow', 'Allow'],
            ]}
          />
          <TextField
            id="maxStaleSeconds"
            name="maxStaleSeconds"
            label="Maximum age of the last answer, in seconds"
            value={form.maxStaleSeconds}
            optional
          />
          <TextField
            id="directory"
            name="directory"
            label="Trusted directory (optional)"
            value={form.directory}
            placeholder="https://bots.example"
            code
            optional
          />
          <SelectField
            id="directoryProfile"
            name="directoryProfile"
            label="Signatures of the directory"
            value={form.directoryProfile}
            options={[
              ['strict', 'Strict: cover the request'],
              ['wba', 'Web Bot Auth: may cover the host alone'],
            ]}
          />
        </div>
      </details>
    </Group>
  )
}

function Summary({ children }: { readonly children: string }) {
  return (
    <summary className="cursor-pointer py-1 font-medium text-accent hover:text-accent-strong">
      {children}
    </summary>
  )
}

export function RouteFields({ route }: Pick<ConsoleForm, 'route'>) {
  return (
    <Group title="2. Route with its own rules (optional)">
      <div className={ROW}>
        <TextField
          id="route.path"
          name="route.path"
          label="Path"
          hint="One path, or everything below it: /orders or /orders/*"
          value={route.path}
          code
          optional
        />
        <TextField
          id="route.methods"
          name="route.methods"
          label="Methods"
          hint="Such as POST, PUT. Empty: every method."
          value={route.methods}
          code
          optional
        />
      </div>
      <details open={route.path !== ''}>
        <Summary>Rules of the route</Summary>
        <div className={`${ROW} pt-2`}>
          <SelectField
            id="route.requireProof"
            name="route.requireProof"
            label="Proof of possession"
            value={route.requireProof}
            options={[SAME, ['true', 'Required'], ['false', 'Not required']]}
          />
          <SelectField
            id="route.status"
            name="route.status"
            label="Status of refusals"
            value={route.status}
            options={[
              ['', '401 or 403'],
              ['402', '402 Payment Required'],
              ['403', '403 Forbidden'],
              ['404', '404 Not Found'],
            ]}
          />
          <LevelSelects levels={route.levels} prefix="route.levels" options={[SAME, ...ACTIONS]} />
        </div>
      </details>
    </Group>
  )
}

const CALLER_LABELS: readonly (readonly [caller: CallerKind, label: string])[] = [
  ['signature', 'An agent that signs it'],
  ['session', 'An agent with a session of your site'],
  ['header', 'An agent that only names itself'],
  ['none', 'A caller without identification'],
  ['directory', 'A signer of the trusted directory'],
  ['pasted', 'The headers that I paste'],
]

interface RequestFieldsProps {
  readonly form: ConsoleForm
  readonly context: PageContext
}

export function RequestFields({ form, context }: RequestFieldsProps) {
  const { idHeader } = context.site.naming
  return (
    <Group title="3. Request">
      <div className={ROW}>
        <SelectField
          id="caller"
          name="caller"
          label="Sent by"
          value={form.caller}
          options={CALLER_LABELS}
        />
        <TextField
          id="agent"
          name="agent"
          label="Agent"
          hint="Username, DID, or its last 24 characters"
          value={form.agent}
          optional
        />
      </div>
      <div className="grid gap-5 sm:grid-cols-[8rem_minmax(0,1fr)]">
        <TextField id="method" name="method" label="Method" value={form.method} code optional />
        <TextField
          id="url"
          name="url"
          label="URL (optional)"
          value={form.url}
          placeholder="https://shop.example/orders"
          code
          optional
        />
      </div>
      <TextArea
        id="headers"
        name="headers"
        label="Headers of a captured request (optional)"
        hint={`One “Name: value” a line. They replace the agent above: its ${idHeader} header and its signature count. Leave out cookies and other secrets.`}
        value={form.headers}
        rows={5}
        optional
      />
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
    </Group>
  )
}
