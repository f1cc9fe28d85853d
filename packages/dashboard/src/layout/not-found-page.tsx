import { Link } from '@tanstack/react-router'
import { buttonClass } from '../components/button.tsx'
import { Page } from '../components/page.tsx'

/** Shown for unknown paths under /dashboard. */
export function NotFoundPage() {
  return (
    <Page
      title="There is no such page"
      lead="The address may be mistyped, or what was here is gone. Nothing of yours has changed."
      width="narrow"
    >
      <div className="flex flex-wrap gap-3">
        <Link to="/agents" className={buttonClass('primary')}>
          To your agents
        </Link>
        <a href="/" className={buttonClass()}>
          To the start page
        </a>
      </div>
    </Page>
  )
}
