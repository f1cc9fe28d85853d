import { type RefObject, useRef, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { useSettled } from '../../agents/use-settled.ts'
import { Button } from '../../parts/button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextAreaField, TextField } from '../../parts/field.tsx'
import { submits } from '../../parts/submits.ts'
import { DESCRIPTION_LENGTH, lengthOf } from './profile-draft.ts'
import type { Profile } from './use-profile.ts'

interface ProfileFormProps {
  readonly did: string
  readonly profile: Profile
}

/** Name, username and description. The card beside it follows. */
export function ProfileForm({ did, profile }: ProfileFormProps) {
  const { text, wrong, edit, changed, saving, discard } = profile
  const name = useRef<HTMLInputElement>(null)
  const ready = changed && Object.keys(wrong).length === 0

  return (
    <form onSubmit={submits(saving.run)} className="flex flex-col gap-5">
      <TextField
        ref={name}
        label="Display name"
        hint="What people read first. 1 to 64 characters."
        error={wrong.displayName}
        value={text.displayName}
        onChange={({ target }) => edit({ displayName: target.value })}
        placeholder={`Agent ${did.slice(-24, -18)}`}
        autoComplete="off"
      />
      <UsernameField did={did} profile={profile} />
      <DescriptionField profile={profile} />
      <ErrorNote error={saving.error} />
      <Actions profile={profile} ready={ready} first={name} discard={discard} />
    </form>
  )
}

interface ActionsProps {
  readonly profile: Profile
  readonly ready: boolean
  readonly first: RefObject<HTMLInputElement | null>
  readonly discard: () => void
}

function Actions({ profile: { changed, saving }, ready, first, discard }: ActionsProps) {
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button type="submit" variant="primary" pending={saving.pending} disabled={!ready}>
        Save changes
      </Button>
      {changed && (
        <Button
          onClick={() => {
            discard()
            first.current?.focus()
          }}
        >
          Discard changes
        </Button>
      )}
      <span className="text-soft text-sm">{changed && 'Not saved yet.'}</span>
    </div>
  )
}

/** Not finished yet: what is wrong with it may be right a letter later. */
const UNFINISHED = /^[a-z0-9-]{0,2}$|^[a-z0-9-]{1,31}-$/

function UsernameField({ did, profile: { text, wrong, refused, edit } }: ProfileFormProps) {
  const { baseUrl } = useService()
  const [left, setLeft] = useState(false)
  const { username } = text
  const quiet = !left && UNFINISHED.test(username)
  return (
    <TextField
      label="Username"
      hint={
        <>
          3 to 32 characters out of a-z, 0-9 and -. Its certificate stands at{' '}
          <span className="wrap-anywhere text-ink">
            {baseUrl.replace(/^https?:\/\//, '')}/agent/{username || did}
          </span>
        </>
      }
      error={refused ?? (quiet ? null : wrong.username)}
      value={username}
      onChange={({ target }) => {
        setLeft(false)
        edit({ username: target.value.toLowerCase() })
      }}
      onBlur={() => setLeft(true)}
      placeholder="none yet"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}

const PAUSE_MS = 1200

function DescriptionField({ profile: { text, wrong, edit } }: Pick<ProfileFormProps, 'profile'>) {
  const length = lengthOf(text.description.trim())
  const count = `${length} of ${DESCRIPTION_LENGTH} characters`
  const settled = useSettled(count, PAUSE_MS)
  return (
    <div>
      <TextAreaField
        label="Description"
        hint="What it does, for those who have never heard of it."
        error={wrong.description}
        aside={<span className={wrong.description ? 'text-bad' : ''}>{count}</span>}
        value={text.description}
        onChange={({ target }) => edit({ description: target.value })}
      />
      {/* Read out once the typing pauses. */}
      <p role="status" className="sr-only">
        {length > 0 && settled}
      </p>
    </div>
  )
}
