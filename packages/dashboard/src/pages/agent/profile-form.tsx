import { type RefObject, useEffect, useRef, useState } from 'react'
import { useService } from '../../agents/use-service.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { TextAreaField, TextField } from '../../components/field.tsx'
import { submitHandler } from '../../components/submit-handler.ts'
import { DESCRIPTION_LENGTH, lengthOf } from './profile-draft.ts'
import type { Profile } from './use-profile.ts'

interface ProfileFormProps {
  readonly did: string
  readonly profile: Profile
}

export function ProfileForm({ did, profile }: ProfileFormProps) {
  const { text, errors, edit, changed, saving, discard } = profile
  const name = useRef<HTMLInputElement>(null)
  const ready = changed && Object.keys(errors).length === 0

  return (
    <form onSubmit={submitHandler(saving.run)} className="flex flex-col gap-5">
      <TextField
        ref={name}
        label="Display name"
        hint="1 to 64 characters."
        error={errors.displayName}
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
      <span className="text-soft text-sm">{changed && 'Unsaved changes'}</span>
    </div>
  )
}

/** Usernames that are invalid only because the user is still typing. */
const UNFINISHED = /^[a-z0-9-]{0,2}$|^[a-z0-9-]{1,31}-$/

function UsernameField({
  did,
  profile: { text, errors, usernameRefusal, edit },
}: ProfileFormProps) {
  const { baseUrl } = useService()
  const [blurred, setBlurred] = useState(false)
  const { username } = text
  const incomplete = !blurred && UNFINISHED.test(username)
  return (
    <TextField
      label="Username"
      hint={
        <>
          3 to 32 characters: a-z, 0-9 and -. Certificate address:{' '}
          <span className="wrap-break-word text-ink">
            {baseUrl.replace(/^https?:\/\//, '')}/agent/{username || did}
          </span>
        </>
      }
      error={usernameRefusal ?? (incomplete ? null : errors.username)}
      value={username}
      onChange={({ target }) => {
        setBlurred(false)
        edit({ username: target.value.toLowerCase() })
      }}
      onBlur={() => setBlurred(true)}
      placeholder="None"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  )
}

const PAUSE_MS = 1200

function DescriptionField({ profile: { text, errors, edit } }: Pick<ProfileFormProps, 'profile'>) {
  const length = lengthOf(text.description.trim())
  const count = `${length} of ${DESCRIPTION_LENGTH} characters`
  const announcedCount = useDebounced(count, PAUSE_MS)
  return (
    <div>
      <TextAreaField
        label="Description"
        hint="What the agent does."
        error={errors.description}
        aside={<span className={errors.description ? 'text-bad' : ''}>{count}</span>}
        value={text.description}
        onChange={({ target }) => edit({ description: target.value })}
      />
      {/* Announced when the user stops typing. */}
      <p role="status" className="sr-only">
        {length > 0 && announcedCount}
      </p>
    </div>
  )
}

/** @returns the value after it has not changed for the given time */
function useDebounced<T>(value: T, milliseconds: number): T {
  const [announcedCount, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds)
    return () => clearTimeout(timer)
  }, [value, milliseconds])
  return announcedCount
}
