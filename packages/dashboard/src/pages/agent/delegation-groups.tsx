import type { DelegationGroupEnded, OwnDelegationGroups } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { AGENTS_KEY, delegationGroupsQuery, pathOf } from '../../agents/queries.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { toast } from '../../components/toast.tsx'

type Group = OwnDelegationGroups['delegations'][number]

/** The groups of delegations that the agent has now, each of which ends without the others. Nothing if it has none. */
export function DelegationGroups({ did }: { readonly did: string }) {
  const groups = useQuery(delegationGroupsQuery(did))
  const [ending, setEnding] = useState<Group | null>(null)
  const queries = useQueryClient()
  const may = useMay()
  const live = groups.data?.delegations ?? []

  async function end({ id, label }: Group) {
    await send<DelegationGroupEnded>('POST', `${pathOf(did)}/delegations/${id}/end`).finally(() =>
      queries.invalidateQueries({ queryKey: AGENTS_KEY }),
    )
    toast(`The group ${label} ended.`)
  }

  if (groups.isPending || (live.length === 0 && groups.error === null)) return null
  return (
    <Section
      title="Groups of delegations"
      lead="Each has a certificate of its own. If you end one, the others go on."
    >
      <ErrorNote error={groups.error} onRetry={() => void groups.refetch()} />
      <ul className="flex flex-col divide-y divide-line">
        {live.map((group) => (
          <li key={group.id} className="flex flex-wrap items-center justify-between gap-3 py-3">
            <div className="min-w-0">
              <p className="wrap-anywhere font-medium">{group.label}</p>
              <p className="text-soft text-sm">
                Created <DateTime at={group.createdAt} as="minute" />
                <br />
                Expires <DateTime at={group.expiresAt} as="minute" />
              </p>
            </div>
            {may('responder') && (
              <Button
                variant="warning"
                aria-label={`End the group ${group.label}`}
                onClick={() => setEnding(group)}
              >
                End …
              </Button>
            )}
          </li>
        ))}
      </ul>
      <ConfirmDialog
        open={ending !== null}
        onClose={() => setEnding(null)}
        title={`End the group ${ending?.label ?? ''}?`}
        action="End group"
        danger
        onConfirm={async () => {
          if (ending !== null) await end(ending)
        }}
      >
        <p>Sites refuse its delegates: at once, or after a few seconds. The others go on.</p>
      </ConfirmDialog>
    </Section>
  )
}
