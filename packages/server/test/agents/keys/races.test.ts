import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tail } from '@countersign/protocol'
import { newKey } from '../../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { revokeAgent } from '../../../src/agents/changes/set-status.ts'
import { completeRecovery } from '../../../src/agents/keys/complete-recovery.ts'
import type { AgentRow } from '../../../src/database/database.ts'
import { eventTypesOf } from '../manage/keys.ts'
import { keyRaces } from './key-races.ts'
import { recoverWith, signInBy, startRecovery } from './with-keys.ts'

keyRaces('races in one process', async (t) => ({
  service: await startTestService(t, { RECOVERY_DELAY: '0' }),
  settled: (assertion) => assertion(),
}))

test('a revocation beside a due recovery ends it once, whichever comes first', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const owner = await signInBy(service, await service.operator.addVerifiedOwner(), Date.now)
  const revocation = { reason: null, setBy: 'owner' } as const
  for (const isRevokedFirst of [true, false]) {
    const did = await claimAgent(service, owner.ownerId, newKey(), `${isRevokedFirst}`)
    const token = await startRecovery(owner, did, 'key_lost')
    const redeemed = await recoverWith(service, did, { token, next: newKey(), sequence: 2 })
    assert.equal(redeemed.status, 200, redeemed.text)
    const tail = did.slice(-24) as Tail
    const revoke = () =>
      db.write(async (tx) => {
        await revokeAgent(tx, (await agentByTail(tx.db, tail)) as AgentRow, revocation, Date.now())
      })
    const complete = () => db.write((tx) => completeRecovery(tx, tail, 'owner', Date.now()))
    const order = isRevokedFirst ? [revoke, complete] : [complete, revoke]
    await Promise.all(order.map((work) => work()))
    const types = await eventTypesOf(service, did)
    assert.deepEqual(
      types.filter((type) => type !== 'agent.grade_changed').slice(2),
      isRevokedFirst
        ? ['agent.revoked', 'agent.key_recovery_cancelled']
        : ['agent.key_recovered', 'agent.revoked'],
    )
  }
})
