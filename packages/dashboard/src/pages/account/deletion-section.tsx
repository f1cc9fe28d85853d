import type { Account } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'

/** Deletes the account, which also revokes all of its agents. */
export function DeletionSection({ account }: { readonly account: Account }) {
  const { username } = account.owner
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [confirming, setConfirming] = useState(false)
  const [typed, setTyped] = useState('')

  async function deleteAccount() {
    const { revokedAgents } = await withRecentSignIn(() =>
      send<{ revokedAgents: number }>('POST', '/api/account/deletion', { username: typed.trim() }),
    )
    queries.setQueryData(
      sessionQuery.queryKey,
      (session) => session && { ...session, owner: null, renewal: null, channelNotes: [] },
    )
    await navigate({ to: '/sign-in', state: { deleted: { revokedAgents } } })
    // No data of this owner stays in memory.
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey !== sessionQuery.queryKey })
    await queries.invalidateQueries(sessionQuery)
  }

  function close() {
    setConfirming(false)
    setTyped('')
  }

  return (
    <SheetSection
      title="Delete account"
      lead="Deletion permanently revokes all your agents. To stop one agent, revoke only that one."
    >
      <Button
        variant="warning"
        size="small"
        className="self-start"
        onClick={() => setConfirming(true)}
      >
        Delete account …
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={close}
        title="Delete your account?"
        action="Delete account"
        danger
        ready={typed.trim() === username}
        onConfirm={deleteAccount}
      >
        <ul className="flex list-disc flex-col gap-1.5 pl-5">
          <li>All your agents are revoked permanently. Their public pages show the revocation.</li>
          <li>Your name, passkeys, recovery codes and verifications are deleted.</li>
          <li>Nobody can undo this, not even the operator.</li>
        </ul>
        <TextField
          label={`Type your username, ${username}, to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </ConfirmDialog>
    </SheetSection>
  )
}
