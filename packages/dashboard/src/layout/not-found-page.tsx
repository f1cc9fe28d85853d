import { Link } from '@tanstack/react-router'
import { buttonClass } from '../components/button.tsx'
import { Page } from '../components/page.tsx'

/** Shown for unknown paths under /dashboard. */
export function NotFoundPage() {
  return (
    <Page
      title="Page not found"
      lead="The address may be mistyped, or the page no longer exists."
      width="narrow"
    >
      <div className="flex flex-wrap gap-3">
        <Link to="/agents" className={buttonClass('primary')}>
          Show your agents
        </Link>
        <a href="/" className={buttonClass()}>
          Open the start page
        </a>
      </div>
    </Page>
  )
}
