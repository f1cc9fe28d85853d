import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../../test/support/key.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { fileOf, withRaw } from '../../../../../test/support/raw-database.ts'
import { claimAgent, countersignd, startTestService } from '../../../../../test/support/service.ts'
import { flipBitInIndex } from '../flip-bit.ts'

type Finding = { readonly check: string; readonly verdict: string; readonly detail: string }

async function doctor(env: Record<string, string>) {
  const { code, stdout } = await countersignd(env, 'doctor', '--json')
  const findings = JSON.parse(stdout) as Finding[]
  return { code, failed: findings.filter(({ verdict }) => verdict === 'fail') }
}

/** Data of a service that has stopped, with one agent. */
async function leaveAgent(t: TestContext) {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  await service.stop()
  return { ...service, tail: did.slice(-24), key }
}

test(
  'one flipped bit in an index is found by doctor, backup, restore, import and at start',
  SQLITE_ONLY,
  async (t) => {
    const { env, settings, tail } = await leaveAgent(t)
    const file = fileOf(settings)
    const backup = join(settings.dataDir, 'backup.db')
    assert.equal((await countersignd(env, 'backup', backup)).code, 0)
    assert.deepEqual(await doctor(env), { code: 0, failed: [] })
    flipBitInIndex(file, tail)
    flipBitInIndex(backup, tail)

    const { code, failed } = await doctor(env)
    assert.equal(code, 1)
    assert.match(failed.find(({ check }) => check === 'database')?.detail ?? '', /damaged/)
    const target = join(settings.dataDir, 'again.db')
    const copied = await countersignd(env, 'backup', target)
    assert.notEqual(copied.code, 0)
    assert.match(copied.stderr, /damaged/)
    assert.equal(existsSync(target), false)
    const restored = await countersignd(env, 'restore', backup)
    assert.notEqual(restored.code, 0)
    assert.match(restored.stderr, /damaged/)
    await assert.rejects(startTestService(t, env), /damaged/)
  },
)

test('doctor finds an agent with a status that does not exist', async (t) => {
  const { env, settings } = await leaveAgent(t)
  assert.deepEqual(await doctor(env), { code: 0, failed: [] })
  await withRaw(settings, (raw) => raw.exec("UPDATE agents SET status = 'activf'"))
  const { code, failed } = await doctor(env)
  assert.equal(code, 1)
  assert.match(
    failed.find(({ check }) => check === 'read model')?.detail ?? '',
    /status is unknown/,
  )
})
