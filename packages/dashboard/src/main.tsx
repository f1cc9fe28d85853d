import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './app.css'
import { ApiError, whenSignedOut } from './api/client.ts'
import { sessionQuery } from './api/session.ts'
import { applyTheme } from './layout/theme.ts'
import { ToastHost } from './parts/toast.tsx'
import { makeRouter } from './router.tsx'

/** A refusal is an answer: only what never arrived is asked for again. */
function isWorthRetrying(failures: number, error: Error): boolean {
  return failures < 2 && !(error instanceof ApiError && error.status > 0 && error.status < 500)
}

const queries = new QueryClient({ defaultOptions: { queries: { retry: isWorthRetrying } } })
const router = makeRouter(queries)

/** The session has ended while the page was open: sign in, and back to where one was. */
whenSignedOut(() => {
  const { pathname, publicHref } = router.state.location
  if (pathname === '/sign-in' || pathname === '/sign-up') return
  const known = queries.getQueryData(sessionQuery.queryKey)
  queries.clear()
  if (known) queries.setQueryData(sessionQuery.queryKey, { ...known, owner: null })
  void router.navigate({ to: '/sign-in', search: { next: publicHref } })
})

applyTheme()

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <ToastHost />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
