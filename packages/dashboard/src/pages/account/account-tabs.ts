import type { Account, Role } from '@countersign/protocol'
import { createContext, useContext } from 'react'
import { organisation } from '../../api/acting-for.ts'
import { useMay } from '../../api/use-may.ts'

/** The parts of the account page, whose they are, and the least role that has each. Each has its own route in `router.tsx`. */
const TABS = [
  { to: '/account', label: 'Profile', least: 'viewer' },
  { to: '/account/security', label: 'Security', least: 'viewer', of: 'person' },
  { to: '/account/sign-in', label: 'Sign-in', least: 'viewer', of: 'organisation' },
  { to: '/account/notifications', label: 'Notifications', least: 'manager' },
  { to: '/account/developers', label: 'Developers', least: 'manager' },
  { to: '/account/data', label: 'Data', least: 'admin' },
] as const satisfies readonly {
  to: string
  label: string
  least: Role
  of?: 'person' | 'organisation'
}[]

const KIND = organisation === null ? 'person' : 'organisation'

/** The tabs that the signed-in person has here. Only persons sign in, so organisations have no security tab. */
export function useAccountTabs() {
  const may = useMay()
  return TABS.filter((tab) => may(tab.least) && (!('of' in tab) || tab.of === KIND))
}

export const AccountContext = createContext<Account | null>(null)

/** The account of the page, for its tabs. */
export function useAccount(): Account {
  const account = useContext(AccountContext)
  if (account === null) throw new Error('useAccount() outside the account page')
  return account
}
