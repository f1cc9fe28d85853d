import { Sheet } from '../../components/sheet.tsx'
import { EmailSection } from './email-section.tsx'

export function NotificationsTab() {
  return (
    <Sheet>
      <EmailSection />
    </Sheet>
  )
}
