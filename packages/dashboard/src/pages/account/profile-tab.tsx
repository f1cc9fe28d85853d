import { organisation } from '../../api/acting-for.ts'
import { Sheet } from '../../components/sheet.tsx'
import { useAccount } from './account-tabs.ts'
import { ProfileSection } from './profile-section.tsx'
import { ResponsibleSection } from './responsible-section.tsx'

export function ProfileTab() {
  return (
    <Sheet>
      <ProfileSection account={useAccount()} />
      {organisation !== null && <ResponsibleSection />}
    </Sheet>
  )
}
