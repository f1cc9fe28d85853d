import type { OwnerAgent } from '@countersign/protocol'
import { useState } from 'react'
import { didOf } from '../../agents/did.ts'
import { useService } from '../../agents/use-service.ts'

export interface Selection {
  /** The selected agents among those that are listed, in their order. */
  readonly selected: readonly OwnerAgent[]
  has(did: string): boolean
  set(did: string, selected: boolean): void
  /** Selects all listed agents, or none at all. */
  setAll(selected: boolean): void
  remove(dids: readonly string[]): void
}

/** @param agents the agents that are listed: others are never selected, so that every action concerns what is visible */
export function useSelection(agents: readonly OwnerAgent[]): Selection {
  const service = useService()
  const [dids, setDids] = useState<ReadonlySet<string>>(new Set())
  const selected = agents.filter((agent) => dids.has(didOf(service, agent)))
  return {
    selected,
    has: (did) => dids.has(did),
    set: (did, isSelected) =>
      setDids((before) => {
        const after = new Set(before)
        if (isSelected) after.add(did)
        else after.delete(did)
        return after
      }),
    setAll: (isSelected) =>
      setDids(new Set(isSelected ? agents.map((agent) => didOf(service, agent)) : [])),
    remove: (gone) =>
      setDids((before) => new Set([...before].filter((did) => !gone.includes(did)))),
  }
}
