import type { Account } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { dashboardOf, loadPage, organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, DialogActions } from '../../components/dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'

const TITLE = organisation === null ? 'Delete account' : 'Delete organisation'

const EFFECTS =
  organisation === null
    ? [
        'All your agents are revoked permanently. Their public pages show the revocation.',
        'Your name, passkeys, recovery codes and verifications are deleted.',
      ]
    : [
        'All its agents are revoked permanently. Their public pages show the revocation.',
        'Its name, members, invitations, API keys, webhooks and verifications are deleted. The accounts of its members stay.',
      ]

function revokedText(count: number): string {
  if (count === 0) return 'It had no agents that could be revoked.'
  return count === 1 ? 'Its agent is revoked.' : `Its ${count} agents are revoked.`
}

/** Deletes the account, which also revokes all of its agents. */
export function DeletionSection({ account }: { readonly account: Account }) {
  const { username } = account.owner
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [confirming, setConfirming] = useState(false)
  const [typed, setTyped] = useState('')
  const [revoked, setRevoked] = useState<number | null>(null)

  async function deleteAccount() {
    const { revokedAgents } = await withRecentSignIn(() =>
      send<{ revokedAgents: number }>('POST', '/api/account/deletion', { username: typed.trim() }),
    )
    if (organisation !== null) return setRevoked(revokedAgents)
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
      title={TITLE}
      lead={`Deletion permanently revokes all ${organisation === null ? 'your' : 'its'} agents. To stop one agent, revoke only that one.`}
    >
      <Button
        variant="warning"
        size="small"
        className="self-start"
        onClick={() => setConfirming(true)}
      >
        {TITLE} …
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={close}
        title={organisation === null ? 'Delete your account?' : `Delete @${username}?`}
        action={TITLE}
        danger
        ready={typed.trim() === username}
        onConfirm={deleteAccount}
      >
        <ul className="flex list-disc flex-col gap-1.5 pl-5">
          {EFFECTS.map((each) => (
            <li key={each}>{each}</li>
          ))}
          <li>Nobody can undo this, not even the operator.</li>
        </ul>
        <TextField
          label={`Type ${organisation === null ? 'your' : 'its'} username, ${username}, to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </ConfirmDialog>
      {revoked !== null && (
        <Dialog
          open
          onClose={() => void loadPage(dashboardOf(null))}
          title={`@${username} is deleted`}
          description={revokedText(revoked)}
        >
          <DialogActions>
            <a href={dashboardOf(null)} className={buttonClass('primary')}>
              Continue with your own account
            </a>
          </DialogActions>
        </Dialog>
      )}
    </SheetSection>
  )
}
