import type { Account, AccountPatch, Owner } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { accountQuery } from '../../api/account.ts'
import { send } from '../../api/client.ts'
import { sessionQuery } from '../../api/session.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField } from '../../parts/field.tsx'
import { Moment } from '../../parts/moment.tsx'
import { whatIsWrongWithDisplayName, whatIsWrongWithUsername } from '../../parts/names.ts'
import { Clause } from '../../parts/sheet.tsx'
import { submits } from '../../parts/submits.ts'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'

/** What others see of the owner. */
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
  const wrongName = whatIsWrongWithDisplayName(displayName)
  const wrongUsername =
    username === owner.username ? null : whatIsWrongWithUsername(username, shortName)

  const save = useAction(async () => {
    if (!changed || wrongName !== null || wrongUsername !== null) return
    const saved = await send<Owner>('PATCH', '/api/account', patch)
    queries.setQueryData(accountQuery.queryKey, { ...account, owner: saved })
    // The name stands at the top of every page, and on every agent's card.
    await queries.invalidateQueries()
    toast('Your profile is saved.')
  })

  return (
    <Clause
      title="Profile"
      lead={
        <>
          Everyone sees it on the certificates of your agents. You have been here since{' '}
          <Moment at={account.createdAt} />.
        </>
      }
    >
      <form noValidate onSubmit={submits(save.run)} className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
        <TextField
          label="Your name"
          hint="A person's or a company's."
          error={wrongName}
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
              : `@${owner.username} becomes free for others. With a recovery code, you sign in as @${username} from then on. Your agents, their addresses and your passkeys stay as they are.`
          }
          error={wrongUsername}
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
            Save the profile
          </Button>
        </div>
      </form>
    </Clause>
  )
}
