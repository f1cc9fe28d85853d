import type { Account } from '@countersign/protocol'
import { createContext, useContext } from 'react'

/** The parts of the account page. Each has its own route in `router.tsx`. */
export const ACCOUNT_TABS = [
  { to: '/account', label: 'Profile' },
  { to: '/account/security', label: 'Security' },
  { to: '/account/notifications', label: 'Notifications' },
  { to: '/account/developers', label: 'Developers' },
  { to: '/account/data', label: 'Data' },
] as const

export const AccountContext = createContext<Account | null>(null)

/** The account of the page, for its tabs. */
export function useAccount(): Account {
  const account = useContext(AccountContext)
  if (account === null) throw new Error('useAccount() outside the account page')
  return account
}
