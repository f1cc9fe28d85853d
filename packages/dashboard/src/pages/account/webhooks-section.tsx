import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../components/button.tsx'
import { SheetSection } from '../../components/sheet.tsx'

/** Leads to the endpoints, which have pages of their own. */
export function WebhooksSection() {
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
