import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { BASE_ENV, run } from '../../../../../test/support/run.ts'
import { openOperator, startTestService } from '../../../../../test/support/service.ts'
import { readSettings } from '../../../src/base/config.ts'
import { WitnessHead } from '../../../src/log/cosigning/witness-head.ts'
import type { Step } from './killed-witness.ts'
import { addCheckpoint, TestLog, witnessLogsFile } from './support.ts'

const PROGRAM = join(import.meta.dirname, 'killed-witness.ts')

/** What is left behind at each step: the size in the database, the size in the file, what was answered. */
const LEFT: Readonly<Record<Step, readonly [number, number, string]>> = {
  signed: [10, 10, ''],
  committed: [20, 10, ''],
  answered: [20, 20, 'cosigned'],
}

for (const [step, left] of Object.entries(LEFT)) {
  test(`kill -9 of the witness once it has ${step}: what was answered is stored, and nothing else is cosigned`, async (t) => {
    const log = new TestLog()
    const service = await startTestService(t, { WITNESS_LOGS: witnessLogsFile(t, [log]) })
    assert.equal((await addCheckpoint(service.url, await log.request(0, 10))).status, 200)
    const { env } = service
    await service.stop()

    const args = [PROGRAM, JSON.stringify(env), step, await log.request(10, 20)]
    const { code, stdout, stderr } = await run(process.execPath, args, { ...BASE_ENV })
    assert.equal(code, null, stderr)
    assert.deepEqual([...(await stateOf(env)), stdout], left)

    const again = await startTestService(t, env)
    const fork = log.fork(15)
    const forked = await addCheckpoint(again.url, await fork.request(10, 20))
    const first = await addCheckpoint(again.url, await log.request(10, 20))
    if (left[0] === 10) {
      // Nothing was stored, and nothing has left: the log may still choose.
      assert.deepEqual([forked.status, first.status], [200, 409])
    } else {
      assert.deepEqual([forked.text, first.text], ['20\n', '20\n'])
      assert.equal((await addCheckpoint(again.url, await fork.request(20, 20))).status, 409)
      assert.equal((await addCheckpoint(again.url, await log.request(20, 20))).status, 200)
    }
    assert.deepEqual(await stateOf(env), [20, 20])
    await again.stop()
  })
}

async function stateOf(env: Record<string, string>): Promise<[number, number]> {
  const settings = readSettings(env)
  const { db, close } = await openOperator(settings)
  const row = await db.read.selectFrom('witnessed_logs').select('size').executeTakeFirst()
  await close()
  return [row?.size ?? 0, new WitnessHead(settings.dataDir).read()?.trees[0]?.size ?? 0]
}
