import type { OwnerAgent, Role } from '@countersign/protocol'
import { createContext, useContext } from 'react'

/** The tabs of the agent page, from left to right, and the least role that has each. Each has its own route in `router.tsx`. */
export const AGENT_TABS = [
  { to: '/agents/$did', label: 'Overview' },
  { to: '/agents/$did/profile', label: 'Profile', least: 'manager' },
  { to: '/agents/$did/channels', label: 'Channels' },
  { to: '/agents/$did/keys', label: 'Keys' },
  { to: '/agents/$did/delegation', label: 'Delegation' },
  { to: '/agents/$did/oauth', label: 'OAuth' },
  { to: '/agents/$did/share', label: 'Share' },
  { to: '/agents/$did/activity', label: 'Activity' },
  { to: '/agents/$did/reports', label: 'Reports', least: 'responder' },
  { to: '/agents/$did/danger', label: 'Danger zone', least: 'responder' },
] as const satisfies readonly { to: string; label: string; least?: Role }[]

interface ShownAgent {
  readonly did: string
  readonly agent: OwnerAgent
}

export const AgentContext = createContext<ShownAgent | null>(null)

/** The agent of the page, for its tabs. */
export function useAgent(): ShownAgent {
  const shown = useContext(AgentContext)
  if (shown === null) throw new Error('useAgent() outside the agent page')
  return shown
}
