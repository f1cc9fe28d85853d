import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'

export function SignedOutLayout() {
  const name = useQuery(sessionQuery).data?.service.name
  return (
    <Frame
      header={
        <a href="/" className="inline-flex max-w-full rounded-md py-4">
          <Brand name={name} />
        </a>
      }
    >
      <Outlet />
    </Frame>
  )
}
