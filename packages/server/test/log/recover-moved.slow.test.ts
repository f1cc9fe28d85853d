import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { LogReport } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import {
  countersignd,
  openOperator,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { SPREAD_MS } from '../../src/agents/changes/change-agent.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { AGENTS, accepted, offer, TransferWorld } from '../agents/transfers/with-transfers.ts'
import { mirrorOf } from './mirror-of.ts'
import { type Backup, backUp, putBack } from './restored.ts'

/** Waits until the log has everything, spread entries too. */
async function untilAllLogged({ service, clock }: TransferWorld): Promise<void> {
  clock.offset += SPREAD_MS.spread + 1
  const { db } = service.operator
  const queued = () => db.read.selectFrom('log_queue').select('seq').execute()
  await untilTicked(service, async () => (await queued()).length === 0)
  const { size } = await db.read.selectFrom('log_epochs').select('size').executeTakeFirstOrThrow()
  await untilLogged(service, size)
}

/** The machine is lost: the backup is put back, and nothing on the new one knows the log. */
async function restart(t: TestContext, world: TransferWorld, backup: Backup): Promise<TestService> {
  const { service, clock } = world
  await service.stop()
  const operator = await openOperator(service.settings)
  await putBack(operator.db, backup)
  await operator.close()
  rmSync(join(service.settings.dataDir, ANCHOR_FILE))
  const restored = await startTestService(t, service.env, clock.now)
  leaveUncompared(restored)
  await untilTicked(restored, async () => {
    const { log } = jsonOf<{ log: LogReport }>(await ask(restored, '/readyz'))
    return log.code === 'no-anchor'
  })
  return restored
}

test('log recover suspends an agent that moved to an owner whom nobody knows, until the operator lifts it', async (t) => {
  const world = await TransferWorld.start(t, { RECOVERY_DELAY: '0' })
  const people = [await world.person('ada'), await world.person('grace')] as const
  const [ada, grace] = people
  const did = await world.claim(ada.ownerId)
  const known = await world.claim(ada.ownerId, newKey(), 'known')
  await untilAllLogged(world)
  // The move of this one is in the backup, but waits for its place in the log.
  const move = async (agent: string, on = world) => {
    const [from, to] = await Promise.all(people.map(({ ownerId }) => on.signInBy(ownerId)))
    await accepted(to as typeof grace, await offer(from as typeof ada, [agent], 'grace'))
  }
  await move(known)
  const backup = await backUp(world.service.operator.db)
  await move(did)
  await untilAllLogged(world)
  const mirror = await mirrorOf(world.service, tempDir(t))

  const restored = await restart(t, world, backup)
  const args = ['log', 'recover', '--from', mirror, '--json']
  const { code, stdout, stderr } = await countersignd(restored.env, ...args)
  assert.equal(code, 0, stderr)
  assert.deepEqual((JSON.parse(stdout) as { moved: string[] }).moved, [did])
  const stateOf = async (agent: string) => {
    const { status, statusReason } = jsonOf(await ask(restored, `/api/agents/${agent}`))
    return [status, statusReason]
  }
  const reason = 'owner_unknown_after_restore'
  await untilTicked(restored, async () => (await stateOf(did))[1] === reason)
  assert.deepEqual(await stateOf(did), ['suspended', reason])
  assert.deepEqual(await stateOf(known), ['active', null])

  const again = new TransferWorld(restored, world.clock)
  const former = await again.signInBy(ada.ownerId)
  assertRefused(await former.post(`${AGENTS}/${did}/reactivate`), 403, 'FORBIDDEN')
  const lifted = await countersignd(restored.env, 'agent', 'reactivate', did)
  assert.equal(lifted.code, 0, lifted.stderr)
  await untilTicked(restored, async () => (await stateOf(did))[0] === 'active')
  await move(did, again)
})
