import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'
import { SITE_LINKS } from './owner-menu.tsx'
import { THEMES, type Theme, useTheme } from './theme.ts'

const LINK = 'py-1 underline-offset-4 hover:text-accent hover:underline'

export function SignedOutLayout() {
  const name = useQuery(sessionQuery).data?.service.name
  return (
    <Frame
      header={
        <div className="flex flex-wrap items-center justify-between gap-x-8">
          <a href="/" className="inline-flex max-w-full rounded-md py-4">
            <Brand name={name} />
          </a>
          <nav
            aria-label="Site"
            className="flex flex-wrap items-center gap-x-5 pb-2 sm:gap-x-7 sm:pb-0"
          >
            {SITE_LINKS.map(({ href, label }) => (
              <a key={href} href={href} className={LINK}>
                {label}
              </a>
            ))}
            <ThemeButton />
          </nav>
        </div>
      }
    >
      <Outlet />
    </Frame>
  )
}

/** Paths of icons in a box of 20 by 20, as on the public pages. */
const ICONS: Readonly<Record<Theme, string>> = {
  system: 'M3 4.5h14v9H3zM7 17h6M10 13.5V17',
  light:
    'M13.5 10a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1',
  dark: 'M16.5 12.2A7 7 0 0 1 7.8 3.5a7 7 0 1 0 8.7 8.7Z',
}

/** Changes the theme: system, light, dark. */
function ThemeButton() {
  const [theme, choose] = useTheme()
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  return (
    <button
      type="button"
      aria-label={`Theme: ${theme}`}
      onClick={() => choose(next)}
      className="inline-flex size-9 shrink-0 cursor-pointer items-center justify-center rounded-md border border-line-strong bg-surface text-ink hover:border-accent hover:text-accent"
    >
      <svg
        viewBox="0 0 20 20"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        aria-hidden="true"
        className="size-5"
      >
        <path d={ICONS[theme]} />
      </svg>
    </button>
  )
}
