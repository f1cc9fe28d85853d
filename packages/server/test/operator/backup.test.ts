import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { prepareClaims, sendClaims } from '../../../../test/support/many-claims.ts'
import { POSTGRES_ONLY, SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  tempDir,
  testEnv,
} from '../../../../test/support/service.ts'

test(
  'a backup made while the service writes can be restored, and what was there before is kept',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const { env, operator, settings } = service
    const backup = join(tempDir(t), 'backup.db')
    const owner = await operator.addVerifiedOwner('ada')
    const key = newKey()
    const did = await claimAgent(service, owner, key)
    const claims = await prepareClaims(operator, 200)
    const writing = sendClaims(service.url, claims, 8, () => undefined)
    const saved = await countersignd(env, 'backup', backup)
    assert.equal(saved.code, 0, saved.stderr)
    await writing
    assert.equal(statSync(backup).mode & 0o777, 0o600)
    const late = await claimAgent(service, owner, key, 'late')

    const busy = await countersignd(env, 'restore', backup)
    assert.equal(busy.code, 5)
    assert.match(busy.stderr, /serves this data already/)

    await service.stop()
    const restored = JSON.parse((await countersignd(env, 'restore', backup, '--json')).stdout)
    assert.ok(existsSync(restored.kept))
    const again = await startTestService(t, { DATA_DIR: settings.dataDir })
    const status = async (each: string) => (await fetch(`${again.url}/api/v1/agent/${each}`)).status
    assert.equal(await status(did), 200)
    assert.equal(await status(late), 404)
  },
)

test(
  'data in PostgreSQL are backed up by its own tools, and the commands say so',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t)
    const file = join(tempDir(t), 'backup.db')
    const saved = await countersignd(env, 'backup', file)
    assert.equal(saved.code, 2)
    assert.match(saved.stderr, /The data are in PostgreSQL: pg_dump makes a backup/)
    assert.equal(existsSync(file), false)
    writeFileSync(file, '')
    const restored = await countersignd(env, 'restore', file)
    assert.equal(restored.code, 2)
    assert.match(restored.stderr, /The data are in PostgreSQL: pg_restore/)
  },
)

test('a backup overwrites nothing', SQLITE_ONLY, async (t) => {
  const { env } = await startTestService(t)
  const file = join(tempDir(t), 'precious')
  writeFileSync(file, 'x')
  const { code, stderr } = await countersignd(env, 'backup', file)
  assert.equal(code, 2)
  assert.match(stderr, /exists already/)
})

test('what is no backup is refused before anything has changed', SQLITE_ONLY, async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await service.stop()
  const file = join(tempDir(t), 'no-backup')
  writeFileSync(file, 'not a database, by far'.repeat(1000))
  for (const each of [file, join(tempDir(t), 'missing')]) {
    const { code } = await countersignd(service.env, 'restore', each)
    assert.equal(code, 2)
  }
  const again = await startTestService(t, { DATA_DIR: service.settings.dataDir })
  assert.equal((await fetch(`${again.url}/api/v1/agent/${did}`)).status, 200)
})
