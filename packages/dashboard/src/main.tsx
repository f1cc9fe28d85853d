import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './app.css'
import { loadPage, organisation, signInPath } from './api/acting-for.ts'
import { ApiError, setRefusedHandler, setSignedOutHandler } from './api/client.ts'
import { sessionQuery } from './api/queries.ts'
import { ToastHost } from './components/toast.tsx'
import { makeRouter } from './router.tsx'

/** Retries network failures and server errors, but not refusals. */
function shouldRetry(failures: number, error: Error): boolean {
  return failures < 2 && !(error instanceof ApiError && error.status > 0 && error.status < 500)
}

const queries = new QueryClient({ defaultOptions: { queries: { retry: shouldRetry } } })
const router = makeRouter(queries)

/** The session ended while the page was open: sign in and return to the same page. */
setSignedOutHandler(() => {
  const { pathname, publicHref } = router.state.location
  if (pathname === '/sign-in' || pathname === '/sign-up') return
  if (organisation !== null) return void loadPage(signInPath(publicHref))
  const session = queries.getQueryData(sessionQuery.queryKey)
  queries.clear()
  if (session) queries.setQueryData(sessionQuery.queryKey, { ...session, owner: null })
  void router.navigate({ to: '/sign-in', search: { next: publicHref } })
})

/** A membership that ended, or a lower role, changes what the pages show. */
setRefusedHandler(() => void queries.invalidateQueries({ queryKey: sessionQuery.queryKey }))

// Until then, the skeleton of index.html is shown.
await router.load()

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
