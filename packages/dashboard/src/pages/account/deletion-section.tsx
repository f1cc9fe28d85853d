import type { Account } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { useRecently } from '../../parts/recent-sign-in.tsx'
import { Clause } from '../../parts/sheet.tsx'

/** The end of the account, and of every agent's certificate with it. */
export function DeletionSection({ account }: { readonly account: Account }) {
  const { username } = account.owner
  const recently = useRecently()
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const [typed, setTyped] = useState('')

  async function deleteAccount() {
    await recently(() => send('POST', '/api/account/deletion', { username: typed.trim() }))
    queries.clear()
    location.assign('/')
  }

  function close() {
    setAsking(false)
    setTyped('')
  }

  return (
    <Clause
      title="Delete the account"
      lead="Your agents lose their certificates for good. If you only want to stop one of them, revoke that one."
    >
      <Button variant="warning" size="small" className="self-start" onClick={() => setAsking(true)}>
        Delete the account
      </Button>
      <ConfirmDialog
        open={asking}
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
    </Clause>
  )
}
