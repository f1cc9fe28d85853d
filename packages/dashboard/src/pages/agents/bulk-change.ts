import { type BulkStatus, type BulkStatusRequest, MAX_BULK_AGENTS } from '@countersign/protocol'
import { didIn } from '../../agents/did.ts'
import { send } from '../../api/client.ts'

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
 * Changes agents, as many as possible in one request, because each request is one notification. Stops if the service does not respond, limits the rate or ends the session: the rest is
 * then `skipped`.
 */
export async function changeAll(
  targets: readonly Target[],
  change: BulkChange,
  reason: string | null,
  shortName: string,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let failure: string | null = null
  for (let from = 0; from < targets.length; from += MAX_BULK_AGENTS) {
    const part = targets.slice(from, from + MAX_BULK_AGENTS)
    if (failure !== null) {
      outcomes.push(...part.map((each) => ({ ...each, result: 'skipped', message: null }) as const))
      continue
    }
    try {
      const agents = part.map(({ did }) => did)
      const body: BulkStatusRequest = { agents, status: STATUS_AFTER[change], reason }
      const { refused } = await send<BulkStatus>('POST', '/api/account/agents/status', body)
      const messages = new Map(refused.map((each) => [didIn(shortName, each), each.message]))
      for (const each of part) {
        const message = messages.get(each.did) ?? null
        outcomes.push({ ...each, result: message === null ? 'done' : 'failed', message })
      }
    } catch (error) {
      failure = error instanceof Error ? error.message : 'Unknown error.'
      const message = failure
      outcomes.push(...part.map((each) => ({ ...each, result: 'failed', message }) as const))
    }
  }
  return outcomes
}
