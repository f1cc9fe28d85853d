import type { AgentStatus, Tail } from '@countersign/protocol'
import { changeStatus } from '../../packages/server/src/agents/manage/change-status.ts'
import { jsonOf } from './answer.ts'
import { ask } from './ask.ts'
import type { TestService } from './service.ts'
import { until } from './until.ts'

/**
 * Changes an agent's status and waits until the service shows it.
 * @param by the operator's suspension applies to the key of the agent
 */
export async function setStatus(
  service: TestService,
  did: string,
  to: AgentStatus,
  reason: string | null = null,
  by: 'owner' | 'operator' = 'owner',
): Promise<void> {
  const deps = { db: service.operator.db, now: Date.now }
  await changeStatus(deps, { tail: did.slice(-24) as Tail, to, reason, by })
  await until(async () => (await statusOf(service, did)) === to)
}

async function statusOf(service: TestService, did: string): Promise<unknown> {
  return jsonOf(await ask(service, `/api/agents/${did}`)).status
}
