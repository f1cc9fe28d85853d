import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { BASE_ENV, run } from '../../../../test/support/run.ts'
import {
  claimAgent,
  openOperator,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import { LogAnchor } from '../../src/log/anchor.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import type { Step } from './killed-log.ts'

const PROGRAM = join(import.meta.dirname, 'killed-log.ts')

/** A claim while no service runs, so that nothing sequences it before the program does. */
async function claimOffline(env: Record<string, string>, ownerId: number): Promise<void> {
  const settings = readSettings(env)
  const { naming } = settings
  const operator = await openOperator(settings)
  const { db } = operator
  const { claimToken } = await issueToken({ db, naming, now: Date.now, randomBytes }, ownerId)
  const deps = { naming, keyReuse: 'owner', log: null, now: Date.now, randomBytes } as const
  const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
  const claim = { tokenHash: hashToken(claimToken), ...made }
  await db.writeBatched(mintBatch, { deps, claim })
  await operator.close()
}

/** What is left behind at each step: entries in the database, entries in the anchor, entries that are published. */
const LEFT: Readonly<Record<Step, readonly [number, number, number]>> = {
  sequenced: [2, 1, 1],
  anchored: [2, 2, 1],
  signed: [2, 2, 1],
  published: [2, 2, 2],
}

for (const [step, left] of Object.entries(LEFT)) {
  test(`kill -9 of the sequencer once it has ${step}: the log goes on, with each change once`, async (t) => {
    const service = await startTestService(t)
    const owner = await service.operator.addVerifiedOwner()
    await claimAgent(service, owner)
    await untilLogged(service, 1)
    const { env } = service
    await service.stop()
    await claimOffline(env, owner)

    const { code, stderr } = await run(process.execPath, [PROGRAM, JSON.stringify(env), step], {
      ...BASE_ENV,
    })
    assert.equal(code, null, stderr)
    assert.deepEqual(await stateOf(env), left)

    const again: TestService = await startTestService(t, env)
    await untilLogged(again, 2)
    const { entries } = await readLog(`${again.url}/log`, await logKey(again.url))
    assert.deepEqual(
      entries.map(({ type }) => type),
      ['claimed', 'claimed'],
    )
    await claimAgent(again, owner)
    await untilLogged(again, 3)
    await again.stop()
  })
}

async function stateOf(env: Record<string, string>): Promise<number[]> {
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  const row = await currentEpoch(operator.db.read)
  await operator.close()
  const anchor = new LogAnchor(settings.dataDir).read()
  return [row?.size ?? 0, anchor?.size ?? 0, row?.published_size ?? 0]
}
