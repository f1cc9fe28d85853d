import type { EnrolmentRule } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { isVerified } from '../../agents/grade-with-owner.ts'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { Choice } from '../../components/choice.tsx'
import { Note } from '../../components/error-note.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { EMPTY_DRAFT, newRuleOf, type RuleDraft } from './draft.ts'
import { PLATFORM_IDS, type PlatformId, PRESETS } from './presets.ts'
import { RULES_PATH, refreshRules } from './queries.ts'
import { RuleForm } from './rule-form.tsx'
import { WHO_CAN_ENROL } from './rule-texts.ts'
import { BackToRules } from './rules-page.tsx'

type Chosen = PlatformId | 'other'

/** Creates a rule, from the preset of a platform. */
export function NewRulePage() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const withRecentSignIn = useRecentSignIn()
  const identity = useQuery(identityQuery).data
  const [chosen, setChosen] = useState<Chosen>('kubernetes')
  const [draft, setDraft] = useState<RuleDraft>(PRESETS.kubernetes.draft)
  const preset = chosen === 'other' ? null : PRESETS[chosen]

  /** Fills in what the platform says. What it does not say stays. */
  function choose(platform: Chosen) {
    const { issuer, trustDomain, keys, jwksUri, match, binding } =
      platform === 'other' ? EMPTY_DRAFT : PRESETS[platform].draft
    setChosen(platform)
    setDraft({ ...draft, issuer, trustDomain, keys, jwksUri, match, binding })
  }

  async function create() {
    const body = newRuleOf(draft)
    const rule = await withRecentSignIn(() => send<EnrolmentRule>('POST', RULES_PATH, body))
    await refreshRules(queries)
    await navigate({ to: '/enrolment/$rule', params: { rule: rule.id } })
    toast(`The rule ${rule.name} is created. Set up the platform with it.`)
  }

  return (
    <Page
      title="New enrolment rule"
      above={<BackToRules />}
      lead="Choose a platform, then fill in what it cannot know."
    >
      <Note tone="warn">
        <p>
          {WHO_CAN_ENROL} What they run then acts under{' '}
          {organisation === null ? 'your name' : 'the name of the organisation'}.
        </p>
      </Note>
      {identity !== undefined && !isVerified(identity) && (
        <Note tone="warn">
          <p>
            A rule needs a current identity verification.{' '}
            <Link to="/identity" className="underline">
              Continue to identity verification
            </Link>
          </p>
        </Note>
      )}
      <RuleForm
        draft={draft}
        preset={preset}
        action="Create the rule"
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
        onSubmit={create}
      >
        <Section title="Platform">
          <fieldset className="grid gap-x-8 sm:grid-cols-2">
            <legend className="sr-only">Platform</legend>
            {PLATFORM_IDS.map((each) => (
              <Choice
                key={each}
                group="platform"
                label={PRESETS[each].name}
                isChosen={chosen === each}
                onChoose={() => choose(each)}
              >
                {PRESETS[each].text}
              </Choice>
            ))}
            <Choice
              group="platform"
              label="Another platform"
              isChosen={chosen === 'other'}
              onChoose={() => choose('other')}
            >
              Any that issues JWTs to its workloads and publishes its keys.
            </Choice>
          </fieldset>
          {preset !== null && (
            <div role="status">
              <p>You fill in:</p>
              <ul className="list-disc pl-5">
                {[...preset.fillIn, 'a name for the rule, and a label'].map((each) => (
                  <li key={each}>{each}</li>
                ))}
              </ul>
            </div>
          )}
        </Section>
      </RuleForm>
    </Page>
  )
}
