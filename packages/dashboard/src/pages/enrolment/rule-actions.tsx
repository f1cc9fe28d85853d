import type { EnrolmentRule } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { pathOf, refreshRules } from './queries.ts'
import { agentCount, durationText, stateOf } from './rule-texts.ts'

/** Pauses, resumes, ends and deletes a rule. */
export function RuleActions({ rule }: { readonly rule: EnrolmentRule }) {
  const { id, name, live, unseenAfterSeconds } = rule
  const may = useMay()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const withRecentSignIn = useRecentSignIn()
  const [ending, setEnding] = useState(false)
  const [deleting, setDeleting] = useState(false)
  const state = stateOf(rule, Date.now())
  const isOpen = state === 'active' || state === 'keys'

  const toggle = useAction(async () => {
    const act = isOpen ? 'pause' : 'resume'
    await withRecentSignIn(() => send('POST', `${pathOf(id)}/${act}`))
    await refreshRules(queries)
    toast(isOpen ? 'The rule is paused.' : 'The rule is active.')
  })
  async function end() {
    const { ending: count } = await send<{ ending: number }>('POST', `${pathOf(id)}/end`)
    await refreshRules(queries)
    toast(count === 0 ? 'The rule is paused.' : `The rule is paused, and ${agentCount(count)} end.`)
  }

  if (!may('responder')) return null
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-3">
        {(isOpen || may('manager')) && (
          <Button size="small" pending={toggle.pending} onClick={toggle.run}>
            {isOpen ? 'Pause' : 'Resume'}
          </Button>
        )}
        <Button size="small" variant="warning" onClick={() => setEnding(true)}>
          End …
        </Button>
        {may('manager') && (
          <Button size="small" variant="warning" onClick={() => setDeleting(true)}>
            Delete …
          </Button>
        )}
      </div>
      <ErrorNote error={toggle.error} />
      <ConfirmDialog
        open={ending}
        onClose={() => setEnding(false)}
        title={`End ${name}?`}
        action={live === 0 ? 'Pause the rule' : `Pause the rule and revoke ${agentCount(live)}`}
        danger
        onConfirm={end}
      >
        <p>
          {live === 0
            ? 'The rule has no agents. It is paused, so that no workload enrols.'
            : `The rule is paused, and its ${agentCount(live)} ${live === 1 ? 'is' : 'are'} revoked within moments. Revocation is permanent.`}
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${name}?`}
        action="Delete the rule"
        danger
        onConfirm={() => withRecentSignIn(() => send('DELETE', pathOf(id)))}
        onDone={() => {
          toast('The rule is deleted.')
          void navigate({ to: '/enrolment' }).then(() => refreshRules(queries))
        }}
      >
        <p>
          {live === 0
            ? 'The rule has no agents.'
            : `Its ${agentCount(live)} cannot renew, and ${live === 1 ? 'ends' : 'end'} when unseen for ${durationText(unseenAfterSeconds)}. To revoke ${live === 1 ? 'it' : 'them'} at once, end the rule first.`}{' '}
          You cannot undo this.
        </p>
      </ConfirmDialog>
    </div>
  )
}
