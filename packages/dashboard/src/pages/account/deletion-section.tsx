import type { Account } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
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
  const [confirming, setConfirming] = useState(false)
  const [typed, setTyped] = useState('')

  async function deleteAccount() {
    await withRecentSignIn(() => send('POST', '/api/account/deletion', { username: typed.trim() }))
    queries.clear()
    location.assign('/')
  }

  function close() {
    setConfirming(false)
    setTyped('')
  }

  return (
    <SheetSection
      title="Delete the account"
      lead="Your agents lose their certificates for good. If you only want to stop one of them, revoke that one."
    >
      <Button
        variant="warning"
        size="small"
        className="self-start"
        onClick={() => setConfirming(true)}
      >
        Delete the account
      </Button>
      <ConfirmDialog
        open={confirming}
        onClose={close}
        title="Delete your account?"
        action="Delete the account for good"
        danger
        ready={typed.trim() === username}
        onConfirm={deleteAccount}
      >
        <ul className="flex list-disc flex-col gap-1.5 pl-5">
          <li>All your agents are revoked, at once and for good. Their pages stay, and say so.</li>
          <li>Your name, passkeys, codes and verifications are erased.</li>
          <li>Nobody can undo it, not even whoever runs this service.</li>
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
