import { type ReactNode, useId } from 'react'
import { Choice } from '../../components/choice.tsx'
import { TextAreaField, TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import type { DraftErrors, RuleDraft } from './draft.ts'
import { MatchFields } from './match-fields.tsx'
import type { Preset } from './presets.ts'

interface RuleFieldsProps {
  readonly draft: RuleDraft
  readonly errors: DraftErrors | null
  readonly preset: Preset | null
  /** Whether the rule exists, so that issuer, trust domain, binding and label are fixed. */
  readonly isFixed?: boolean
  readonly onChange: (part: Partial<RuleDraft>) => void
}

/** The fields of a rule. */
export function RuleFields(props: RuleFieldsProps) {
  const { draft, errors, preset, isFixed = false, onChange } = props
  const problems = errors?.fields ?? {}
  return (
    <>
      <Section title="Tokens" lead="Whose tokens the rule accepts, and with which claims.">
        {!isFixed && (
          <>
            <Text
              label="Issuer"
              hint={`Compared exactly with “iss”, also a slash at the end. ${preset?.issuer.hint ?? ''}`}
              error={problems.issuer}
              placeholder={preset?.issuer.placeholder ?? 'https://issuer.example.org'}
              value={draft.issuer}
              onChange={(issuer) => onChange({ issuer })}
            />
            {(preset === null || preset.draft.keys === 'jwksUri') && (
              <Text
                label="Trust domain"
                hint="A SPIFFE trust domain. Leave it empty for other platforms."
                error={problems.trustDomain}
                placeholder="example.org"
                value={draft.trustDomain}
                onChange={(trustDomain) => onChange({ trustDomain })}
              />
            )}
          </>
        )}
        <KeysFields {...props} />
        <div className="@container">
          <MatchFields
            match={draft.match}
            preset={preset}
            errors={errors}
            onChange={(match) => onChange({ match })}
          />
        </div>
        {!isFixed && (
          <Options legend="Binding" remark={preset?.bindingWhy}>
            <Choice
              group="binding"
              label="key: a token is for one key"
              isChosen={draft.binding === 'key'}
              onChoose={() => onChange({ binding: 'key' })}
            >
              The safer one. The audience of the token names the key, so the platform must take an
              audience at run time.
            </Choice>
            <Choice
              group="binding"
              label="token: the first key that uses a token keeps it"
              isChosen={draft.binding === 'token'}
              onChoose={() => onChange({ binding: 'token' })}
            >
              For platforms that fix the audience beforehand.
            </Choice>
          </Options>
        )}
      </Section>
      <Section title="Agents" lead="What the rule makes of a workload.">
        <TextField
          label="Name of the rule"
          hint="Private. It identifies the rule in your list."
          error={problems.name}
          placeholder="Crawler pods"
          value={draft.name}
          onChange={({ target }) => onChange({ name: target.value })}
          autoComplete="off"
        />
        {!isFixed && <LabelFields {...props} />}
        <Numbers {...props} />
        <TextField
          label="Display name of new agents"
          hint="Public. You can leave it empty."
          error={problems.displayName}
          value={draft.displayName}
          onChange={({ target }) => onChange({ displayName: target.value })}
          autoComplete="off"
        />
        <TextField
          label="Description of new agents"
          hint="Public, at most 160 characters. You can leave it empty."
          error={problems.description}
          value={draft.description}
          onChange={({ target }) => onChange({ description: target.value })}
          autoComplete="off"
        />
      </Section>
    </>
  )
}

interface TextProps {
  readonly label: string
  readonly hint: string
  readonly error: string | undefined
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A field for what machines compare. */
function Text({ onChange, ...field }: TextProps) {
  return (
    <TextField
      {...field}
      className="font-mono"
      onChange={({ target }) => onChange(target.value)}
      autoComplete="off"
      spellCheck={false}
    />
  )
}

interface OptionsProps {
  readonly legend: string
  readonly remark?: string | undefined
  readonly error?: string | undefined
  readonly children: ReactNode
}

function Options({ legend, remark, error, children }: OptionsProps) {
  const id = useId()
  return (
    <fieldset className="flex min-w-0 flex-col" aria-describedby={error && id}>
      <legend className="mb-1 font-medium">{legend}</legend>
      {children}
      {remark && <p className="wrap-anywhere text-pretty text-soft text-sm">{remark}</p>}
      <p
        id={id}
        data-mistake
        tabIndex={-1}
        aria-live="polite"
        className="text-bad text-sm outline-hidden empty:hidden"
      >
        {error}
      </p>
    </fieldset>
  )
}

/** Where the keys of the issuer come from. */
function KeysFields({ draft, errors, preset, onChange }: RuleFieldsProps) {
  const problems = errors?.fields ?? {}
  return (
    <>
      <Options legend="Keys of the issuer" remark={preset?.keysHint} error={problems.keys}>
        <Choice
          group="keys"
          label="Discovery"
          isChosen={draft.keys === 'discovery'}
          onChoose={() => onChange({ keys: 'discovery' })}
        >
          The service reads them at the issuer (OpenID Connect Discovery).
        </Choice>
        <Choice
          group="keys"
          label="URL of the keys"
          isChosen={draft.keys === 'jwksUri'}
          onChoose={() => onChange({ keys: 'jwksUri' })}
        >
          The service reads them at a URL, such as a SPIFFE bundle endpoint.
        </Choice>
        <Choice
          group="keys"
          label="Pasted keys"
          isChosen={draft.keys === 'jwks'}
          onChoose={() => onChange({ keys: 'jwks' })}
        >
          For issuers that the internet cannot reach. After a rotation, you paste them again.
        </Choice>
      </Options>
      {draft.keys === 'jwksUri' && (
        <Text
          label="URL"
          hint="An https URL that anyone on the internet can reach."
          error={problems.jwksUri}
          placeholder="https://issuer.example.org/keys"
          value={draft.jwksUri}
          onChange={(jwksUri) => onChange({ jwksUri })}
        />
      )}
      {draft.keys === 'jwks' && (
        <TextAreaField
          label="JWK Set"
          hint="Public keys only."
          error={problems.jwks}
          placeholder='{"keys": [{"kty": "RSA", …}]}'
          className="break-all font-mono text-sm"
          rows={6}
          value={draft.jwks}
          onChange={({ target }) => onChange({ jwks: target.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </>
  )
}

/** What each agent is called: fixed, or a claim of its token. */
function LabelFields({ draft, errors, onChange }: RuleFieldsProps) {
  const problems = errors?.fields ?? {}
  const isText = draft.labelFrom === 'text'
  return (
    <>
      <Options legend="Label of the agents" remark="Private. It cannot change later.">
        <Choice
          group="label"
          label="The same label for all"
          isChosen={isText}
          onChoose={() => onChange({ labelFrom: 'text' })}
        >
          Each workload has its own key and DID.
        </Choice>
        <Choice
          group="label"
          label="From a claim of the token"
          isChosen={!isText}
          onChoose={() => onChange({ labelFrom: 'claim' })}
        >
          Such as the name of the pod.
        </Choice>
      </Options>
      {isText ? (
        <TextField
          label="Label"
          error={problems.agentId}
          placeholder="crawler"
          value={draft.agentId}
          onChange={({ target }) => onChange({ agentId: target.value })}
          autoComplete="off"
          spellCheck={false}
        />
      ) : (
        <Text
          label="Claim with the label"
          hint="A JSON Pointer."
          error={problems.agentIdClaim}
          placeholder="/kubernetes.io/pod/name"
          value={draft.agentIdClaim}
          onChange={(agentIdClaim) => onChange({ agentIdClaim })}
        />
      )}
    </>
  )
}

function Numbers({ draft, errors, onChange }: RuleFieldsProps) {
  const problems = errors?.fields ?? {}
  return (
    <div className="grid gap-x-6 gap-y-5 sm:grid-cols-3">
      <TextField
        label="Agents at once"
        hint="1 to 1,000."
        error={problems.maxLive}
        inputMode="numeric"
        value={draft.maxLive}
        onChange={({ target }) => onChange({ maxLive: target.value })}
        autoComplete="off"
      />
      <TextField
        label="Ends unseen after (hours)"
        hint="1 to 720. A workload renews after a third of it."
        error={problems.unseenAfterHours}
        inputMode="decimal"
        value={draft.unseenAfterHours}
        onChange={({ target }) => onChange({ unseenAfterHours: target.value })}
        autoComplete="off"
      />
      <TextField
        label="Longest token (minutes)"
        hint="5 to 1,440. Tokens that live longer are refused."
        error={problems.maxTokenMinutes}
        inputMode="decimal"
        value={draft.maxTokenMinutes}
        onChange={({ target }) => onChange({ maxTokenMinutes: target.value })}
        autoComplete="off"
      />
    </div>
  )
}
