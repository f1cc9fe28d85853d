import type { OwnerAgent } from '@countersign/protocol'
import { pathOf } from '../../agents/queries.ts'
import { ApiError, get, send } from '../../api/client.ts'

export type BulkChange = 'suspend' | 'revoke'

export interface Target {
  readonly did: string
  readonly name: string
}

/** What became of one agent. `skipped`: not tried, because an earlier error would have stopped it too. */
export interface Outcome extends Target {
  readonly result: 'done' | 'failed' | 'skipped'
  /** The error message of a failure. */
  readonly message: string | null
}

const STATUS_AFTER = { suspend: 'suspended', revoke: 'revoked' } as const

/**
 * Changes agents one after another. An agent that another change has already brought to the wanted status counts as done. Stops if the
 * service does not respond, limits the rate or ends the session: the rest is then `skipped`.
 * @param onProgress called with the number of agents that are finished
 */
export async function changeAll(
  targets: readonly Target[],
  change: BulkChange,
  reason: string | null,
  onProgress: (finished: number) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let stopped = false
  for (const target of targets) {
    if (stopped) {
      outcomes.push({ ...target, result: 'skipped', message: null })
      continue
    }
    try {
      await send('POST', `${pathOf(target.did)}/${change}`, { reason })
      outcomes.push({ ...target, result: 'done', message: null })
    } catch (error) {
      if (await isAlready(error, target, change)) {
        outcomes.push({ ...target, result: 'done', message: null })
      } else {
        outcomes.push({ ...target, result: 'failed', message: messageOf(error) })
        stopped = !isAboutOneAgent(error)
      }
    }
    onProgress(outcomes.length)
  }
  return outcomes
}

/** Whether the agent is in the wanted status already: revoking one of a compromised key revokes all of that key. */
async function isAlready(error: unknown, { did }: Target, change: BulkChange): Promise<boolean> {
  if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) return false
  const agent = await get<OwnerAgent>(pathOf(did)).catch(() => null)
  return agent?.status === STATUS_AFTER[change]
}

function isAboutOneAgent(error: unknown): boolean {
  return (
    error instanceof ApiError && ['VALIDATION_ERROR', 'NOT_FOUND', 'FORBIDDEN'].includes(error.code)
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Unknown error.'
}
