import { Link } from '@tanstack/react-router'
import { buttonClass } from '../parts/button.tsx'
import { Page } from '../parts/page.tsx'

/** For addresses under /dashboard at which there is nothing. */
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
