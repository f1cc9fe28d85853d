import type { EnrolmentRule } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Page } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { changesOf, draftOf } from './draft.ts'
import { PRESETS, platformOf } from './presets.ts'
import { pathOf, refreshRules } from './queries.ts'
import { RuleForm } from './rule-form.tsx'
import { WithRule } from './with-rule.tsx'

const route = getRouteApi('/signed-in/enrolment/$rule/edit')

export function EditRulePage() {
  const { rule: id } = route.useParams()
  return <WithRule id={id}>{(rule) => <EditRule key={id} rule={rule} />}</WithRule>
}

/** Changes what may change of a rule. */
function EditRule({ rule }: { readonly rule: EnrolmentRule }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const withRecentSignIn = useRecentSignIn()
  const [draft, setDraft] = useState(() => draftOf(rule))
  const platform = platformOf(rule)
  const params = { rule: rule.id }

  async function save() {
    const { keys, ...changes } = changesOf(draft)
    // The service reads the keys again if they are sent, which an issuer that is away would refuse.
    const isChanged = JSON.stringify(keys) !== JSON.stringify(rule.keys)
    const body = isChanged ? { ...changes, keys } : changes
    await withRecentSignIn(() => send('PATCH', pathOf(rule.id), body))
    await refreshRules(queries)
    await navigate({ to: '/enrolment/$rule', params })
    toast('The rule is saved.')
  }

  return (
    <Page
      title={`Edit ${rule.name}`}
      above={
        <Link to="/enrolment/$rule" params={params} className="w-fit text-accent underline">
          {rule.name}
        </Link>
      }
      lead="Issuer, trust domain, binding and label cannot change. Agents that have enrolled stay."
    >
      <RuleForm
        draft={draft}
        preset={platform && PRESETS[platform]}
        isFixed
        action="Save the rule"
        onChange={(part) => setDraft((before) => ({ ...before, ...part }))}
        onSubmit={save}
      />
    </Page>
  )
}
