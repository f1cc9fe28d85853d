import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'
import { ThemeButton } from './theme-button.tsx'

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
          <nav aria-label="Site" className="flex items-center gap-5 pb-2 sm:gap-7 sm:pb-0">
            <a href="/check" className={LINK}>
              Check
            </a>
            <a href="/docs" className={LINK}>
              Docs
            </a>
            <ThemeButton />
          </nav>
        </div>
      }
    >
      <Outlet />
    </Frame>
  )
}
