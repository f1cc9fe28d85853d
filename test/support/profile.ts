import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChannelEvidence } from '@countersign/protocol'
import { appendAgentEvent, appendEvent } from '../../packages/server/src/database/event-table.ts'
import { insertProvenChannel } from './channel-rows.ts'
import type { TestService } from './service.ts'

/** An agent's profile as if its owner had entered it, and its proven channels. */
export interface ProfileOfTest {
  readonly username?: string
  readonly displayName?: string
  readonly description?: string
  readonly channels?: readonly (Pick<ChannelEvidence, 'kind' | 'handleOrDomain' | 'tier'> & {
    readonly freshUntil?: number
  })[]
}

/** Writes an agent's profile without validating it, and waits until the service shows it. */
export async function giveProfile(
  service: TestService,
  did: string,
  { username, displayName, description, channels = [] }: ProfileOfTest,
): Promise<void> {
  const tail = did.slice(-24)
  const at = Date.now() + 1
  await service.operator.db.write(async (tx) => {
    const seq = tx.nextSeq()
    await tx.db
      .updateTable('agents')
      .set({
        username: username ?? null,
        display_name: displayName ?? null,
        description: description ?? null,
        updated_at: at,
        version: seq,
      })
      .where('tail', '=', tail)
      .execute()
    for (const [i, { kind, handleOrDomain, tier, freshUntil = null }] of channels.entries()) {
      // Different times keep the channels in order.
      const times = { verified_at: at + i, checked_at: at, fresh_until: freshUntil }
      await insertProvenChannel(tx, tail, {
        kind,
        handle_or_domain: handleOrDomain,
        tier,
        ...times,
      })
    }
    await appendAgentEvent(tx, { seq, at, type: 'agent.updated', tail, ownerId: null, payload: {} })
  })
  await until(service, did, ({ updatedAt }) => updatedAt === new Date(at).toISOString())
}

/** Changes an owner's name, and waits until the service shows it for one of their agents. */
export async function giveOwnerName(
  service: TestService,
  ownerId: number,
  displayName: string,
  did: string,
): Promise<void> {
  await service.operator.db.write(async (tx) => {
    const seq = tx.nextSeq()
    await tx.db
      .updateTable('owners')
      .set({ display_name: displayName })
      .where('id', '=', ownerId)
      .execute()
    const event = { seq, at: Date.now(), tail: null, ownerId, payload: {} }
    await appendEvent(tx, { ...event, type: 'owner.updated' })
  })
  await until(service, did, ({ owner }) => owner?.displayName === displayName)
}

interface Shown {
  readonly updatedAt: string
  readonly owner: { readonly displayName: string } | null
}

async function until(
  service: TestService,
  did: string,
  holds: (shown: Shown) => boolean,
): Promise<void> {
  const deadline = performance.now() + 30_000
  for (;;) {
    const shown = (await (await fetch(`${service.url}/api/agents/${did}`)).json()) as Shown
    if (holds(shown)) return
    assert.ok(performance.now() < deadline, `${did} does not show what it was given`)
    await sleep(5)
  }
}
