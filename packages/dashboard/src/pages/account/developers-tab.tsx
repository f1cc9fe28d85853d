import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../components/button.tsx'
import { Sheet, SheetSection } from '../../components/sheet.tsx'
import { ApiKeysSection } from './api-keys-section.tsx'

/** API keys, and the pages of webhooks, grant issuers and enrolment. */
export function DevelopersTab() {
  return (
    <Sheet>
      <ApiKeysSection />
      <WebhooksSection />
      <GrantIssuersSection />
      <EnrolmentSection />
    </Sheet>
  )
}

/** Leads to the grant issuers, which have a page of their own. */
function GrantIssuersSection() {
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

/** Leads to the enrolment rules, which have pages of their own. */
function EnrolmentSection() {
  return (
    <SheetSection
      title="Enrolment"
      lead="Workloads can get certificates by the tokens of their platform."
    >
      <Link to="/enrolment" className={`self-start ${buttonClass('secondary', 'small')}`}>
        Manage enrolment rules
      </Link>
    </SheetSection>
  )
}

/** Leads to the endpoints, which have pages of their own. */
function WebhooksSection() {
  return (
    <SheetSection
      title="Webhooks"
      lead="The service can send events of your agents to your endpoints."
    >
      <Link to="/webhooks" className={`self-start ${buttonClass('secondary', 'small')}`}>
        Manage webhooks
      </Link>
    </SheetSection>
  )
}
