import { Sheet } from '../../components/sheet.tsx'
import { useAccount } from './account-tabs.ts'
import { ProfileSection } from './profile-section.tsx'

export function ProfileTab() {
  return (
    <Sheet>
      <ProfileSection account={useAccount()} />
    </Sheet>
  )
}
