import type { Owner, SessionState } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useId, useRef, useState } from 'react'
import { accountTitle } from '../api/acting-for.ts'
import { send } from '../api/client.ts'
import { errorMessage } from '../components/error-note.tsx'
import { toast } from '../components/toast.tsx'
import { ActingForMenu, ITEM } from './acting-for-menu.tsx'
import { THEMES, type Theme, useTheme } from './theme.ts'

/** The parts of the site for everyone. */
export const SITE_LINKS = [
  { href: '/check', label: 'Check' },
  { href: '/docs', label: 'Docs' },
] as const

const THEME_NAMES: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' }

interface OwnerMenuProps {
  /** Whom the page acts for. */
  readonly owner: Owner
  readonly session: SessionState
}

/**
 * Links and settings for the signed-in owner. A button that expands a list instead of an ARIA menu, whose keyboard
 * controls are little known.
 */
export function OwnerMenu({ owner, session }: OwnerMenuProps) {
  const [open, setOpen] = useState(false)
  const container = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const id = useId()

  useEffect(() => {
    if (!open) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      setOpen(false)
      button.current?.focus()
    }
    /** Closes the list when the focus or a click goes elsewhere. */
    const closeOutside = ({ target }: Event) => {
      if (target instanceof Node && !container.current?.contains(target)) setOpen(false)
    }
    document.addEventListener('keydown', onKey)
    document.addEventListener('focusin', closeOutside)
    document.addEventListener('pointerdown', closeOutside)
    return () => {
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('focusin', closeOutside)
      document.removeEventListener('pointerdown', closeOutside)
    }
  }, [open])

  return (
    <div ref={container} className="relative min-w-0 max-w-30 sm:max-w-60">
      <button
        ref={button}
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="flex min-h-10 max-w-full cursor-pointer items-center gap-2 rounded-lg py-1 pr-2 pl-1 hover:bg-sunken aria-expanded:bg-sunken"
      >
        <Initial name={owner.displayName} />
        <span className="truncate font-medium">{owner.displayName}</span>
        <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" className="shrink-0">
          <path d="M2 4l4 4 4-4" fill="none" stroke="currentColor" strokeWidth="1.6" />
        </svg>
      </button>
      <div
        id={id}
        hidden={!open}
        className="absolute top-full right-0 z-30 mt-2 max-h-[calc(100dvh-6rem)] w-64 max-w-[calc(100vw-2rem)] overflow-y-auto rounded-xl border border-line bg-surface p-1.5 shadow-lg"
      >
        <p className="truncate px-3 pt-2 pb-3 text-soft text-sm">{signedInAs(session)}</p>
        <Link to="/account" className={ITEM} onClick={() => setOpen(false)}>
          {accountTitle}
        </Link>
        <ActingForMenu session={session} />
        <hr className="mx-3 my-1.5 border-line sm:hidden" />
        {/* On wider screens, the header has these links. */}
        {SITE_LINKS.map(({ href, label }) => (
          <a key={href} href={href} className={`${ITEM} sm:hidden`}>
            {label}
          </a>
        ))}
        <hr className="mx-3 my-1.5 border-line" />
        <ThemeChoice />
        <hr className="mx-3 my-1.5 border-line" />
        <SignOut />
      </div>
    </div>
  )
}

/** Who is signed in, whomever the page acts for. */
function signedInAs({ person, actingFor }: SessionState): string {
  const name = person?.username ? `@${person.username}` : person?.displayName
  return actingFor === null ? `${name}` : `Signed in as ${name}`
}

function ThemeChoice() {
  const [theme, choose] = useTheme()
  return (
    <fieldset>
      <legend className="px-3 pt-1.5 pb-1 text-soft text-sm">Theme</legend>
      {THEMES.map((each) => (
        <label key={each} className={ITEM}>
          <input
            type="radio"
            name="theme"
            className="size-4 accent-accent"
            checked={theme === each}
            onChange={() => choose(each)}
          />
          {THEME_NAMES[each]}
        </label>
      ))}
    </fieldset>
  )
}

function SignOut() {
  const signOut = useSignOut()
  return (
    <button type="button" className={ITEM} onClick={signOut}>
      Sign out
    </button>
  )
}

function Initial({ name }: { readonly name: string }) {
  return (
    <span
      aria-hidden="true"
      className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-wash font-semibold text-accent text-sm"
    >
      {[...name.trim()][0]?.toUpperCase()}
    </span>
  )
}

/** Ends the session and clears all cached data. */
function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    try {
      await send('POST', '/api/session/end')
    } catch (error) {
      toast(`You are still signed in. ${errorMessage(error)}`)
      return
    }
    queries.clear()
    // Reloads, so that no data of this owner stays in memory.
    location.assign('/dashboard/sign-in')
  }
}
