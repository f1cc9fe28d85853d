import type { EnrolmentRule } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { ResponsibleDialog } from '../../organisations/responsible-dialog.tsx'
import { pathOf, refreshRules } from './queries.ts'
import { RuleActions } from './rule-actions.tsx'
import { RuleMark } from './rule-mark.tsx'
import { agentCount, durationText, refusalText, stateOf, WHO_CAN_ENROL } from './rule-texts.ts'
import { BackToRules } from './rules-page.tsx'
import { setupOf } from './setup-texts.ts'
import { TestToken } from './test-token.tsx'
import { WithRule } from './with-rule.tsx'

const route = getRouteApi('/signed-in/enrolment/$rule')

/** One rule: its state, how to set up the platform, and its fields. */
export function RulePage() {
  const { rule: id } = route.useParams()
  return <WithRule id={id}>{(rule) => <Loaded key={id} rule={rule} />}</WithRule>
}

interface RuleProps {
  readonly rule: EnrolmentRule
}

function Loaded({ rule }: RuleProps) {
  const may = useMay()
  return (
    <Page title={rule.name} above={<BackToRules />} actions={<RuleMark rule={rule} />}>
      <StateNote rule={rule} />
      <Agents rule={rule} />
      <SetUp rule={rule} />
      {may('manager') && <TestToken rule={rule} />}
      <Fields rule={rule} />
      {organisation !== null && <Responsible rule={rule} />}
    </Page>
  )
}

/** Why no workload enrols, and what to do. */
function StateNote({ rule }: RuleProps) {
  const ends = `agents end when they are unseen for ${durationText(rule.unseenAfterSeconds)}`
  switch (stateOf(rule, Date.now())) {
    case 'paused':
      return (
        <Note>
          <p>No workload enrols or renews. The {ends}.</p>
        </Note>
      )
    case 'forgotten':
      return (
        <Note tone="warn">
          <p>
            No workload has enrolled for 30 days, so the rule admits nobody. Check that the issuer
            is still the one that you know, then resume the rule.
          </p>
        </Note>
      )
    case 'keys':
      return (
        <Note tone="bad">
          <p className="wrap-anywhere">
            The keys of the issuer cannot be read, so no workload enrols. {rule.keysProblem} No
            agent ends for this reason within 7 days.
          </p>
        </Note>
      )
    default:
      return null
  }
}

function Agents({ rule }: RuleProps) {
  const { live, maxLive, lastEnrolledAt, lastRefusal, unseenAfterSeconds } = rule
  return (
    <Section title="Agents" actions={<RuleActions rule={rule} />}>
      <p className="max-w-2xl text-pretty">
        <strong className="font-semibold">
          {live.toLocaleString('en')} of {agentCount(maxLive)}
        </strong>
        . An agent ends when it has not enrolled again for {durationText(unseenAfterSeconds)}.{' '}
        <Link to="/agents" search={{ enrolled: 'only' }} className="text-accent underline">
          Show the enrolled agents
        </Link>
      </p>
      <dl className={LIST}>
        <Detail name="Last enrolled">
          {lastEnrolledAt === null ? 'Never' : <DateTime at={lastEnrolledAt} as="ago" />}
        </Detail>
        <Detail name="Last refused">
          {lastRefusal === null ? (
            'Never'
          ) : (
            <>
              <DateTime at={lastRefusal.at} as="ago" />: {refusalText(lastRefusal.check)}
            </>
          )}
        </Detail>
      </dl>
      <p className="max-w-2xl text-pretty text-soft">{WHO_CAN_ENROL}</p>
    </Section>
  )
}

/** What to copy to the platform. */
function SetUp({ rule }: RuleProps) {
  const { title, lead, texts } = setupOf(rule, useService())
  return (
    <Section title={title} lead={lead}>
      <CopyField label="Audience" value={rule.audience} />
      {texts.map(({ label, text }) => (
        <CopyField key={label} label={label} value={text} lines />
      ))}
      <p className="text-pretty text-soft text-sm">
        The command needs Node.js 20.19 or later.{' '}
        <a href="/docs/enrolment#by-platform" className="underline">
          By platform, and with the SDK
        </a>
      </p>
    </Section>
  )
}

function Fields({ rule }: RuleProps) {
  const may = useMay()
  const { id, issuer, trustDomain, binding, agentId, agentIdClaim, match, profile } = rule
  return (
    <Section
      title="Rule"
      actions={
        may('manager') && (
          <Link
            to="/enrolment/$rule/edit"
            params={{ rule: id }}
            className={buttonClass('secondary', 'small')}
          >
            Edit
          </Link>
        )
      }
    >
      <dl className={LIST}>
        <Detail name="ID" isCode>
          {id}
        </Detail>
        {issuer !== null && (
          <Detail name="Issuer" isCode>
            {issuer}
          </Detail>
        )}
        {trustDomain !== null && (
          <Detail name="Trust domain" isCode>
            {trustDomain}
          </Detail>
        )}
        <Detail name="Keys">
          <Keys rule={rule} />
        </Detail>
        <Detail name="Claims">
          <ul className="flex flex-col gap-1">
            {Object.entries(match).map(([pointer, value]) => (
              <li key={pointer} className="wrap-anywhere font-mono text-sm sm:leading-6">
                {pointer} = {Array.isArray(value) ? value.join(' or ') : String(value)}
              </li>
            ))}
          </ul>
        </Detail>
        <Detail name="Binding">
          {binding === 'key'
            ? 'key: a stolen token is useless with another key'
            : 'token: the first key that uses a token keeps it'}
        </Detail>
        <Detail name="Label">
          {agentIdClaim === null ? agentId : `The claim ${agentIdClaim}`}
        </Detail>
        <Detail name="Longest token">{durationText(rule.maxTokenSeconds)}</Detail>
        {profile.displayName !== null && <Detail name="Display name">{profile.displayName}</Detail>}
        {profile.description !== null && <Detail name="Description">{profile.description}</Detail>}
        <Detail name="Created">
          <DateTime at={rule.createdAt} />
        </Detail>
      </dl>
    </Section>
  )
}

function Keys({ rule: { keys, keysReadAt } }: RuleProps) {
  if (keys.jwks !== undefined) return 'Pasted'
  return (
    <>
      <span className="wrap-anywhere">
        {keys.jwksUri === undefined ? 'Discovery at the issuer' : keys.jwksUri}
      </span>
      {keysReadAt !== null && (
        <>
          , last read <DateTime at={keysReadAt} as="ago" />
        </>
      )}
    </>
  )
}

/** The member who is responsible for the agents that enrol from now on. */
function Responsible({ rule }: RuleProps) {
  const { id, name, responsible } = rule
  const may = useMay()
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const [changing, setChanging] = useState(false)

  async function save(chosen: string | null, member: string) {
    await withRecentSignIn(() => send('PATCH', pathOf(id), { responsible: chosen }))
    await refreshRules(queries)
    setChanging(false)
    toast(`${member} is responsible for the next agents of ${name}.`)
  }

  return (
    <Section
      title="Responsible person"
      lead="The member who looks after the agents that enrol from now on. Not public."
      actions={
        may('manager') && (
          <Button size="small" onClick={() => setChanging(true)}>
            {responsible === null ? 'Choose a member' : 'Change'}
          </Button>
        )
      }
    >
      {responsible === null ? (
        <p className="text-pretty">
          <span className="font-medium text-warn">Nobody.</span> The member has left. New agents
          have no responsible person either, until you choose one.
        </p>
      ) : (
        <p className="wrap-anywhere">{responsible.displayName}</p>
      )}
      {changing && (
        <ResponsibleDialog
          description={name}
          current={responsible?.id ?? null}
          isRequired
          onSave={save}
          onClose={() => setChanging(false)}
        />
      )}
    </Section>
  )
}

const LIST = 'grid gap-x-8 gap-y-1 sm:grid-cols-[9rem_minmax(0,1fr)] sm:gap-y-3'

interface DetailProps {
  readonly name: string
  readonly isCode?: boolean
  readonly children: ReactNode
}

function Detail({ name, isCode = false, children }: DetailProps) {
  return (
    <>
      <dt className="text-soft max-sm:not-first:mt-2">{name}</dt>
      <dd className={`wrap-anywhere ${isCode ? 'font-mono text-sm sm:leading-6' : ''}`}>
        {children}
      </dd>
    </>
  )
}
