import type { Account, AccountPatch, Owner } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dashboardOf, loadPage, organisation } from '../../api/acting-for.ts'
import { send } from '../../api/client.ts'
import { accountQuery, sessionQuery } from '../../api/queries.ts'
import { useMay } from '../../api/use-may.ts'
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

const IS_ORGANISATION = organisation !== null

interface ProfileSectionProps {
  readonly account: Account
}

/** How certificates and pages name the owner. */
export function ProfileSection({ account }: ProfileSectionProps) {
  const { owner, createdAt } = account
  const may = useMay()
  return (
    <SheetSection
      title="Profile"
      lead={
        <>
          {IS_ORGANISATION
            ? 'The certificates of its agents show the name as self-declared. After a change, they show the date for 90 days.'
            : 'Your agents’ certificates show it as your self-declared name. If you change it, they show the date of the change for 90 days.'}{' '}
          {IS_ORGANISATION ? 'Created' : 'Account created'} on <DateTime at={createdAt} />.
        </>
      }
    >
      {may('admin') ? (
        <NamesForm account={account} />
      ) : (
        <dl className="grid gap-x-6 gap-y-4 sm:grid-cols-2">
          <div>
            <dt className="font-medium">Name</dt>
            <dd className="wrap-anywhere">{owner.displayName}</dd>
          </div>
          <div>
            <dt className="font-medium">Username</dt>
            <dd className="wrap-anywhere">@{owner.username}</dd>
          </div>
        </dl>
      )}
    </SheetSection>
  )
}

/** The names of the owner, for those who may change them. */
function NamesForm({ account }: ProfileSectionProps) {
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
    // The username of an organisation is part of the URL of its pages.
    if (IS_ORGANISATION && saved.username !== owner.username) {
      await loadPage(`${dashboardOf(saved.username)}/account`)
    }
    queries.setQueryData(accountQuery.queryKey, { ...account, owner: saved })
    // Every page and every agent's card shows the name.
    await queries.invalidateQueries()
    toast('Profile saved.')
  })

  return (
    <form
      noValidate
      onSubmit={submitHandler(save.run)}
      className="grid gap-x-6 gap-y-4 sm:grid-cols-2"
    >
      <TextField
        label={IS_ORGANISATION ? 'Name' : 'Your name'}
        hint={IS_ORGANISATION ? 'The name of the organisation.' : "Your name or your company's."}
        error={nameError}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
        autoComplete={IS_ORGANISATION ? 'organization' : 'name'}
        maxLength={128}
      />
      <TextField
        label="Username"
        hint={username === owner.username ? USERNAME_USE : usernameEffect(owner.username, username)}
        error={invalidUsername}
        value={username}
        onChange={(event) => setUsername(event.target.value.toLowerCase())}
        autoComplete={IS_ORGANISATION ? 'off' : 'username'}
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
  )
}

const USERNAME_USE = IS_ORGANISATION
  ? 'Part of the address of these pages. Members name the organisation by it.'
  : 'You need it to sign in with a recovery code.'

function usernameEffect(before: string, after: string): string {
  const lost = `Others can take @${before} after 90 days.`
  return IS_ORGANISATION
    ? `${lost} The address of these pages changes. Agents, members and API keys do not.`
    : `${lost} Use @${after} to sign in with a recovery code. Your agents and passkeys do not change.`
}
