import type { Account, AccountPatch, Owner } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { accountQuery, sessionQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextField } from '../../components/field.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { displayNameError, usernameError } from '../../components/validate-names.ts'

export function ProfileSection({ account }: { readonly account: Account }) {
  const { owner } = account
  const queries = useQueryClient()
  const shortName = useQuery(sessionQuery).data?.service.shortName ?? ''
  const [displayName, setDisplayName] = useState(owner.displayName)
  const [username, setUsername] = useState(owner.username)

  const patch: AccountPatch = {
    ...(displayName !== owner.displayName && { displayName }),
    ...(username !== owner.username && { username }),
  }
  const changed = Object.keys(patch).length > 0
  const nameError = displayNameError(displayName)
  const invalidUsername = username === owner.username ? null : usernameError(username, shortName)

  const withRecentSignIn = useRecentSignIn()
  const save = useAction(async () => {
    if (!changed || nameError !== null || invalidUsername !== null) return
    const saved = await withRecentSignIn(() => send<Owner>('PATCH', '/api/account', patch))
    queries.setQueryData(accountQuery.queryKey, { ...account, owner: saved })
    // Every page and every agent's card shows the name.
    await queries.invalidateQueries()
    toast('Profile saved.')
  })

  return (
    <SheetSection
      title="Profile"
      lead={
        <>
          Your agents’ certificates show it as your self-declared name. If you change it, they show
          the date of the change for 90 days. Account created on <DateTime at={account.createdAt} />
          .
        </>
      }
    >
      <form
        noValidate
        onSubmit={submitHandler(save.run)}
        className="grid gap-x-6 gap-y-4 sm:grid-cols-2"
      >
        <TextField
          label="Your name"
          hint="Your name or your company's."
          error={nameError}
          value={displayName}
          onChange={(event) => setDisplayName(event.target.value)}
          autoComplete="name"
          maxLength={128}
        />
        <TextField
          label="Username"
          hint={
            username === owner.username
              ? 'You need it to sign in with a recovery code.'
              : `Others can take @${owner.username} after 90 days. Use @${username} to sign in with a recovery code. Your agents and passkeys do not change.`
          }
          error={invalidUsername}
          value={username}
          onChange={(event) => setUsername(event.target.value.toLowerCase())}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={32}
        />
        <div className="flex flex-col items-start gap-4 sm:col-span-2">
          <ErrorNote error={save.error} />
          <Button type="submit" variant="primary" pending={save.pending} disabled={!changed}>
            Save profile
          </Button>
        </div>
      </form>
    </SheetSection>
  )
}
