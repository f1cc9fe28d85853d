import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import {
  countersignd,
  openOperator,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../../test/support/service.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { readSettings } from '../../../src/base/config.ts'
import { deleteAccount } from '../../../src/service/privacy/delete-account.ts'
import { Erasures } from '../../../src/service/privacy/erasures.ts'

async function erasedAccounts(env: Readonly<Record<string, string>>) {
  const { stdout } = await countersignd(env, 'doctor', '--json')
  const findings = JSON.parse(stdout) as { check: string; verdict: string; detail: string }[]
  const found = findings.find(({ check }) => check === 'erased accounts')
  assert.ok(found !== undefined)
  return found
}

test('doctor names an erased account that the database has again, and no later one with its number', async (t) => {
  const env = await testEnv(t)
  const operator = await openOperator(readSettings(env))
  const id = await operator.addVerifiedOwner('ada')
  await operator.close()
  const list = join(env.DATA_DIR as string, 'erasures')
  const erasedAt = (at: number) => writeFileSync(list, `${id} ${new Date(at).toISOString()}\n`)
  assert.equal((await erasedAccounts(env)).verdict, 'ok', 'there is no list')
  erasedAt(Date.now() + 1000)
  const found = await erasedAccounts(env)
  assert.equal(found.verdict, 'fail')
  assert.match(found.detail, /brought back ada \(erased 20.*countersignd owner delete/)
  erasedAt(Date.now() - 3_600_000)
  assert.equal((await erasedAccounts(env)).verdict, 'ok', 'the account was made later')
})

test('a node records what others have erased', async (t) => {
  const service = await startTestService(t)
  const { db, pepper, addVerifiedOwner } = service.operator
  const id = await addVerifiedOwner('ada')
  const other = new Erasures(tempDir(t))
  await deleteAccount({ db, pepper, now: Date.now, erasures: other }, id, 'ada')
  const list = join(service.settings.dataDir, 'erasures')
  await untilTicked(service, async () => existsSync(list))
  assert.match(readFileSync(list, 'utf8'), new RegExp(`^${id} \\S+Z\\n$`))
})

test('restore names the accounts that were erased after the backup', SQLITE_ONLY, async (t) => {
  const env = await testEnv(t)
  const operator = await openOperator(readSettings(env))
  for (const name of ['ada', 'grace']) await operator.addVerifiedOwner(name)
  await operator.close()
  const backup = join(tempDir(t), 'backup.db')
  assert.equal((await countersignd(env, 'backup', backup)).code, 0)
  assert.equal((await countersignd(env, 'owner', 'delete', 'ada')).code, 0)
  const { stdout } = await countersignd(env, 'restore', backup, '--json')
  assert.deepEqual(JSON.parse(stdout).erased, ['ada'])
})
