import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readSettings } from '../../packages/server/src/base/config.ts'
import { fileOf, textOfTables } from '../support/raw-database.ts'
import { countersignd, openOperator, tempDir, testEnv } from '../support/service.ts'
import { report } from './support/report.ts'

const NAME = 'qzmarkqz'

test('an account that was erased and that a backup brings back is named, until it is erased again', async (t) => {
  const env = await testEnv(t)
  delete env.DATABASE_URL
  const settings = readSettings(env)
  const operator = await openOperator(settings)
  await operator.addVerifiedOwner(NAME)
  await operator.addVerifiedOwner('somebody-else')
  await operator.close()
  const backup = join(tempDir(t), 'backup.db')
  const run = async (...args: string[]) => {
    const result = await countersignd(env, ...args)
    assert.equal(result.code, 0, result.stderr)
    return result.stdout
  }
  const erasedAccounts = async () => {
    const { stdout } = await countersignd(env, 'doctor', '--json')
    const findings = JSON.parse(stdout) as { check: string; verdict: string; detail: string }[]
    return findings.find(({ check }) => check === 'erased accounts')
  }
  await run('backup', backup)
  await run('owner', 'delete', NAME)
  assert.equal((await textOfTables(settings)).includes(NAME), false)
  assert.equal((await erasedAccounts())?.verdict, 'ok')

  const restored = await run('restore', backup)
  assert.match(restored, new RegExp(`erased after the backup.*\\n.*owner delete ${NAME}\\n`))
  assert.match(restored, /Delete that file when you no longer need it/)
  assert.ok(!restored.includes('somebody-else'))
  const found = await erasedAccounts()
  assert.equal(found?.verdict, 'fail')
  assert.match(found.detail, new RegExp(`brought back ${NAME} \\(erased 20`))

  // The control: a node that was lost with its list cannot know it.
  const lost = { ...env, DATA_DIR: tempDir(t) }
  const elsewhere = await countersignd(lost, 'restore', backup, '--json')
  assert.deepEqual(JSON.parse(elsewhere.stdout).erased, [])

  await run('owner', 'delete', NAME)
  assert.equal((await erasedAccounts())?.verdict, 'ok')
  assert.equal(readFileSync(fileOf(settings)).includes(NAME), false)
  const list = readFileSync(join(settings.dataDir, 'erasures'), 'utf8')
  assert.match(list, /^(1 \S+Z\n){2}$/)
  report(t, { 'named after the restore': NAME, 'erased again': 'nothing is named any more' })
})
