import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { AGENTS_KEY } from '../../agents/queries.ts'
import { ReasonField, useReason } from '../../agents/reason-field.tsx'
import { organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'

interface RevokeAllProps {
  /** The number of agents that can be revoked. */
  readonly count: number
}

/** For emergencies such as stolen keys. Collapsed by default. */
export function RevokeAll({ count }: RevokeAllProps) {
  const [open, setOpen] = useState(false)
  return (
    <details className="mt-6 border-line border-t pt-4">
      <summary className="w-fit cursor-pointer rounded-lg py-2 text-soft hover:text-ink">
        Emergency: revoke all agents
      </summary>
      <div className="mt-3 flex flex-col items-start gap-4 rounded-2xl border border-line bg-surface p-5 sm:p-6">
        <p className="max-w-2xl text-pretty">
          If all your keys may be compromised, revoke all your agents at once. To revoke some of
          them, select them above.
        </p>
        <Button variant="warning" onClick={() => setOpen(true)}>
          Revoke all agents …
        </Button>
      </div>
      <RevokeAllDialog count={count} open={open} onClose={() => setOpen(false)} />
    </details>
  )
}

function RevokeAllDialog(
  props: RevokeAllProps & { readonly open: boolean; readonly onClose: () => void },
) {
  const { count, open, onClose } = props
  const [typed, setTyped] = useState('')
  const reason = useReason()
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const username = useQuery(sessionQuery).data?.owner?.username
  const agents = count === 1 ? '1 agent' : `${count} agents`

  const { reset } = reason
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when it opens
  useEffect(() => {
    setTyped('')
    reset()
  }, [open])

  async function revoke() {
    const { revokedAgents } = await withRecentSignIn(() =>
      send<{ revokedAgents: number }>('POST', '/api/account/agents/revoke-all', {
        username: typed.trim(),
        reason: reason.reason,
      }),
    )
    await queries.invalidateQueries({ queryKey: AGENTS_KEY })
    toast(revokedAgents === 1 ? '1 agent revoked.' : `${revokedAgents} agents revoked.`)
  }

  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={`Revoke ${agents}?`}
      action={`Revoke ${agents}`}
      danger
      ready={typed.trim() === username && reason.valid}
      onConfirm={revoke}
    >
      <ul className="list-disc space-y-1.5 pl-5">
        <li>All certificates end at once. Revocation is permanent.</li>
        <li>You keep their usernames and can give them to other agents.</li>
        <li>Their keys and labels can be claimed again, each with a new DID.</li>
      </ul>
      <ReasonField state={reason} />
      <TextField
        label={organisation === null ? 'Your username' : 'Username of the organisation'}
        hint={`Enter ${username ?? 'it'} to confirm.`}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
    </ConfirmDialog>
  )
}
