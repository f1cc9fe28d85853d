import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { fileOf } from '../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startServiceProcess,
  startTestService,
} from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { flipBitInIndex } from './flip-bit.ts'

/** Small files are checked before the first answer. */
function makeLarge(file: string): void {
  const connection = new DatabaseSync(file, { timeout: 5000 })
  connection.exec('create table filler (bytes blob)')
  connection.exec('insert into filler values (zeroblob(17 * 1024 * 1024))')
  connection.close()
}

/** Asserts that a service on these data does not answer. */
async function assertRefused(env: Readonly<Record<string, string>>): Promise<void> {
  const { code, stdout, stderr } = await countersignd(env, 'serve')
  assert.equal(code, 1)
  assert.match(stderr, /damaged/)
  assert.doesNotMatch(stdout, /serves/)
}

/** Data of a service that has stopped, with an agent, and then a flipped bit in a file whose time and size stay. */
async function leaveSilentDamage(t: TestContext, isLarge = true) {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const file = fileOf(service.settings)
  if (isLarge) makeLarge(file)
  await service.stop()
  assert.ok(existsSync(`${file}.checked`), 'the first start has checked it')
  const reference = join(service.settings.dataDir, 'reference')
  execFileSync('touch', ['-r', file, reference])
  flipBitInIndex(file, did.slice(-24))
  execFileSync('touch', ['-r', reference, file])
  return { ...service, file, did }
}

test(
  'a disk that flips a bit unseen is found beside the answers: the service ends, and does not answer again',
  SQLITE_ONLY,
  async (t) => {
    const { env } = await leaveSilentDamage(t)
    const service = await startServiceProcess(t, { ...env, LOG_LEVEL: 'info' })
    if (service.child.exitCode === null) await once(service.child, 'exit')
    assert.equal(service.child.exitCode, 1)
    assert.match(service.output(), /serves .*The database file is damaged/s)
    await assertRefused(env)
  },
)

test('a small file is always checked before the first answer', SQLITE_ONLY, async (t) => {
  const { env } = await leaveSilentDamage(t, false)
  await assertRefused(env)
})

test(
  'a file that is not as a service has closed it is checked before the first answer',
  SQLITE_ONLY,
  async (t) => {
    const { env, file } = await leaveSilentDamage(t)
    execFileSync('touch', [file])
    await assertRefused(env)
  },
)

test(
  'a file whose last check ended more than a day ago is checked before the first answer',
  SQLITE_ONLY,
  async (t) => {
    const { env, file } = await leaveSilentDamage(t)
    const [state] = readFileSync(`${file}.checked`, 'utf8').split('\n')
    writeFileSync(`${file}.checked`, `${state}\n${Date.now() - 86_400_001}\n`)
    await assertRefused(env)
  },
)

test(
  'an unchanged file is checked again beside each start, and not after a kill',
  SQLITE_ONLY,
  async (t) => {
    const first = await startServiceProcess(t)
    const mark = join(first.env.DATA_DIR as string, 'countersign.db.checked')
    assert.equal(existsSync(mark), false, 'only of a closed file')
    makeLarge(join(first.env.DATA_DIR as string, 'countersign.db'))
    await first.stop()
    for (let i = 0; i < 2; i++) {
      assert.ok(existsSync(mark))
      const next = await startServiceProcess(t, { ...first.env, LOG_LEVEL: 'info' })
      await until(async () => next.output().includes('The database file has no fault'))
      await next.stop()
    }
    const brief = await startServiceProcess(t, first.env)
    await brief.stop()
    assert.ok(existsSync(mark), 'the last check still counts')
    const killed = await startServiceProcess(t, first.env)
    await killed.stop('SIGKILL')
    assert.equal(existsSync(mark), false)
  },
)
