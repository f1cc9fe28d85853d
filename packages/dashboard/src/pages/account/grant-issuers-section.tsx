import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../components/button.tsx'
import { SheetSection } from '../../components/sheet.tsx'

/** Leads to the grant issuers, which have a page of their own. */
export function GrantIssuersSection() {
  return (
    <SheetSection
      title="OAuth"
      lead="Your agents can get access tokens from OAuth authorization servers."
    >
      <Link to="/grant-issuers" className={`self-start ${buttonClass('secondary', 'small')}`}>
        Manage grant issuers
      </Link>
    </SheetSection>
  )
}
