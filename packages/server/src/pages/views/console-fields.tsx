import { LISTS, type ListName } from '../console/console-form.ts'
import { POLICY_CODECS } from '../console/policy-codecs.ts'
import {
  Choice,
  Columns,
  EditButton,
  Group,
  Lines,
  More,
  Text,
  useForm,
} from './console-form-parts.tsx'
import { RuleFields } from './console-rule-fields.tsx'

export function PolicyFields() {
  const { form, mistakes, hasContent } = useForm()
  const { mode: _, ...codecs } = POLICY_CODECS
  const others = Object.entries(codecs).flatMap(([name, codec]) => codec.names(name))
  return (
    <Group id="policy" title="1. Policy">
      <More title="Load a policy that you have" open={mistakes.has('json')}>
        <Lines
          name="json"
          label="Policy as JSON"
          hint="A policy, or the file of countersign-gateway. It replaces the fields below."
          placeholder={'{ "requireProof": true }'}
          rows={6}
        />
        <EditButton edit="load" to="policy">
          Load policy
        </EditButton>
      </More>
      <Columns>
        <Text
          name="origin"
          label="Origin of your site"
          hint="Signatures count only for this origin. Separate several by spaces."
        />
        <Choice
          name="mode"
          label="Mode"
          hint="Shadow mode logs decisions and refuses nothing."
          options={[
            ['enforce', 'Enforce'],
            ['shadow', 'Shadow'],
          ]}
        />
      </Columns>
      <RuleFields prefix="" />
      <More title="Rate limit, cache, preflights" open={hasContent(others)}>
        <Columns>
          <Text
            name="limit.requests"
            label="Rate limit: requests"
            hint="For each agent, or each address if no agent is known"
          />
          <Text name="limit.seconds" label="Rate limit: seconds" />
          <Text
            name="cacheSeconds"
            label="Cached answers, in seconds"
            hint="A revoked agent is refused within this time."
          />
          <Choice
            name="preflight"
            label="CORS preflights"
            options={[
              ['pass', 'Pass'],
              ['decide', 'Decide like other requests'],
            ]}
          />
        </Columns>
      </More>
      <More title="Trusted directories" open={form.directories > 0}>
        <Directories />
      </More>
    </Group>
  )
}

function Directories() {
  const { form } = useForm()
  return (
    <div id="directories" className="scroll-mt-6 space-y-5">
      <p className="text-sm text-soft">
        Signers that are not agents of this service. “Key of a trusted directory” is the action for
        them.
      </p>
      {Array.from({ length: form.directories }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the position is what identifies it
        <Item key={i} list="directories" index={i} what="Directory">
          <Columns>
            <Text
              name={`directories.${i}.url`}
              label="Address"
              placeholder="https://bots.example"
            />
            <Choice
              name={`directories.${i}.profile`}
              label="Signatures"
              options={[
                ['strict', 'Strict: cover the request'],
                ['wba', 'Web Bot Auth: may cover the host alone'],
              ]}
            />
            <Text
              name={`directories.${i}.maxLifetimeSeconds`}
              label="Longest lifetime of a signature, in seconds"
              placeholder="86400"
            />
          </Columns>
        </Item>
      ))}
      <AddButton list="directories" what="directory" />
    </div>
  )
}

export function RouteFields() {
  const { form } = useForm()
  return (
    <Group id="routes" title="2. Routes with their own rules (optional)">
      <p className="text-sm text-soft">
        The first route that matches applies. Where none matches, the policy above does.
      </p>
      {Array.from({ length: form.routes }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the position is what identifies it
        <Item key={i} list="routes" index={i} what="Route">
          <Columns>
            <Text
              name={`routes.${i}.path`}
              label="Path"
              hint="One path, or everything below it: /orders or /orders/*"
            />
            <Text
              name={`routes.${i}.methods`}
              label="Methods"
              hint="Such as POST, PUT. Empty: every method."
            />
          </Columns>
          <RuleFields prefix={`routes.${i}.`} />
        </Item>
      ))}
      <AddButton list="routes" what="route" />
    </Group>
  )
}

interface ItemProps {
  readonly list: ListName
  readonly index: number
  readonly what: 'Route' | 'Directory'
  readonly children: React.ReactNode
}

/** A route or a directory, with the buttons that move and remove it. */
function Item({ list, index, what, children }: ItemProps) {
  const { form } = useForm()
  const title = `${what} ${index + 1}`
  return (
    <section
      id={`${list}-${index}`}
      aria-label={title}
      className="scroll-mt-6 space-y-5 rounded-xl border border-line bg-surface p-4 sm:p-6"
    >
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h3 className="text-lg font-semibold">{title}</h3>
        <div className="flex flex-wrap gap-2">
          <EditButton
            edit={`raise ${list} ${index}`}
            to={`${list}-${index - 1}`}
            label={`Move ${title} up`}
            disabled={index === 0}
          >
            Up
          </EditButton>
          <EditButton
            edit={`lower ${list} ${index}`}
            to={`${list}-${index + 1}`}
            label={`Move ${title} down`}
            disabled={index === form[list] - 1}
          >
            Down
          </EditButton>
          <EditButton edit={`remove ${list} ${index}`} to={list} label={`Remove ${title}`}>
            Remove
          </EditButton>
        </div>
      </div>
      {children}
    </section>
  )
}

function AddButton({ list, what }: { readonly list: ListName; readonly what: string }) {
  const { form } = useForm()
  const isFull = form[list] >= LISTS[list].most
  return (
    <>
      <input type="hidden" name={list} value={form[list]} />
      <EditButton edit={`add ${list}`} to={`${list}-${form[list]}`} disabled={isFull}>
        Add {what}
      </EditButton>
    </>
  )
}
