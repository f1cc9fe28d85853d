import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentStatus, Tail } from '@countersign/protocol'
import { changeStatus } from '../../packages/server/src/agent-management/change-status.ts'
import { jsonOf } from './answer.ts'
import { ask } from './ask.ts'
import type { TestService } from './service.ts'

/** Far longer than it takes, for busy machines. */
const PATIENCE_MS = 30_000

/** Changes an agent's status like countersignd, and waits until the service shows it. */
export async function setStatus(
  service: TestService,
  did: string,
  to: AgentStatus,
  reason: string | null = null,
): Promise<void> {
  const deps = { db: service.operator.db, now: Date.now }
  await changeStatus(deps, { tail: did.slice(-24) as Tail, to, reason, by: 'operator' })
  const deadline = performance.now() + PATIENCE_MS
  while ((await statusOf(service, did)) !== to) {
    assert.ok(performance.now() < deadline, `${did} is still not ${to}`)
    await sleep(5)
  }
}

async function statusOf(service: TestService, did: string): Promise<unknown> {
  return jsonOf(await ask(service, `/api/agents/${did}`)).status
}
