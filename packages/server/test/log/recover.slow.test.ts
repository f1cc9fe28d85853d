import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isAgentEntry, parseVerifierKey } from '@countersign/protocol'
import { leaveUncompared } from '../../../../test/support/changes-complete.ts'
import { newKey } from '../../../../test/support/key.ts'
import { logInfo, logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { withRaw } from '../../../../test/support/raw-database.ts'
import {
  COUNTERSIGND,
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { serviceKeyName } from '../../src/secrets/service-keys.ts'
import { mirrorOf } from './mirror-of.ts'
import { assertVerifies } from './restored.ts'

async function readiness({ url }: TestService) {
  const body = (await (await fetch(`${url}/readyz`)).json()) as {
    log: { state: string; problem: string | null }
  }
  return body.log
}

test(
  'a restored backup halts the log until the lost entries are recovered from a mirror',
  SQLITE_ONLY,
  async (t) => {
    const dir = tempDir(t)
    const service = await startTestService(t)
    const { env } = service
    const owner = await service.operator.addVerifiedOwner()
    const revokedLater = await claimAgent(service, owner)
    await untilLogged(service, 1)
    const backup = join(dir, 'backup.db')
    assert.equal((await countersignd(env, 'backup', backup)).code, 0)
    const revoked = await countersignd(
      env,
      'agent',
      'revoke',
      revokedLater,
      '--reason',
      'under_review',
    )
    assert.equal(revoked.code, 0, revoked.stderr)
    const lost = await claimAgent(service, owner, newKey(), 'lost')
    await untilLogged(service, 3)
    const mirror = await mirrorOf(service, join(dir, 'mirror'))
    const before = await readLog(`${service.url}/log`, await logKey(service.url))
    await service.stop()
    const back = await countersignd(env, 'restore', backup)
    assert.equal(back.code, 3, back.stderr)
    assert.match(back.stdout, /Entries of the log that the backup lacks: 2\n/)
    assert.match(back.stdout, /status goes back: 1\n {2}svc.*\n.*key goes back: 0\n/)
    assert.match(back.stdout, /Agents that the backup lacks: 1\n/)
    assert.ok(back.stdout.includes(lost) && back.stdout.includes(revokedLater), back.stdout)
    assert.match(back.stdout, /The log will be halted\. .*countersignd log recover --from/)

    const restored = await startTestService(t, env)
    leaveUncompared(restored)
    await untilTicked(restored, async () => (await readiness(restored)).state === 'halted')
    assert.match((await readiness(restored)).problem ?? '', /has 1 entries of the log, but 3 were/)
    assert.equal((await fetch(`${restored.url}/log/checkpoint`)).status, 503)
    assert.equal((await fetch(`${restored.url}/log/tile/0/000.p/1`)).status, 503)
    const doctor = await countersignd(env, 'doctor')
    assert.match(doctor.stdout, /fail {2}transparency log: .*log recover/)
    // The service itself goes on.
    const during = await claimAgent(restored, owner, newKey(), 'during')

    const wrong = await countersignd(env, 'log', 'recover', '--from', join(dir, 'nothing'))
    assert.notEqual(wrong.code, 0)
    const recovered = await countersignd(env, 'log', 'recover', '--from', mirror)
    assert.equal(recovered.code, 0, recovered.stderr)
    assert.match(recovered.stdout, /Added 2 entries\.\nRevoked:\n {2}svc/)
    assert.ok(recovered.stdout.includes(lost))
    await untilLogged(restored, 4)
    const after = await readLog(`${restored.url}/log`, await logKey(restored.url))
    assert.deepEqual(after.raw.slice(0, 3), before.raw)
    assert.ok(after.entries.filter(isAgentEntry).some(({ did }) => did === during))
    const shown = await fetch(`${restored.url}/api/agents/${revokedLater}`)
    assert.equal(((await shown.json()) as { status: string }).status, 'revoked')
    assert.equal((await readiness(restored)).state, 'ok')
    assert.match((await countersignd(env, 'doctor')).stdout, /ok {4}transparency log/)
  },
)

/** A command takes about a second: most of these end it at another step. */
const KILLED_AFTER_MS = [300, 500, 600, 700, 800, 900, 1000, 1100, 1200]

/** Starts a command and kills it after some time, if it has not ended. */
async function killAfter(ms: number, env: NodeJS.ProcessEnv, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [COUNTERSIGND, ...args], { env, stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), ms)
  await once(child, 'exit')
  clearTimeout(timer)
}

test(
  'a restore and a recovery that were killed with -9 at any time are run again, and complete',
  SQLITE_ONLY,
  async (t) => {
    const dir = tempDir(t)
    const service = await startTestService(t)
    const { env } = service
    const did = await claimAgent(service, await service.operator.addVerifiedOwner())
    await untilLogged(service, 1)
    const backup = join(dir, 'backup.db')
    assert.equal((await countersignd(env, 'backup', backup)).code, 0)
    assert.equal((await countersignd(env, 'agent', 'revoke', did)).code, 0)
    await untilLogged(service, 2)
    const mirror = await mirrorOf(service, join(dir, 'mirror'))
    const before = await readLog(`${service.url}/log`, await logKey(service.url))
    await service.stop()

    for (const ms of KILLED_AFTER_MS) await killAfter(ms, env, 'restore', backup)
    assert.equal((await countersignd(env, 'restore', backup)).code, 3)
    for (const ms of KILLED_AFTER_MS) await killAfter(ms, env, 'log', 'recover', '--from', mirror)
    const recovered = await countersignd(env, 'log', 'recover', '--from', mirror)
    assert.equal(recovered.code, 0, recovered.stderr)

    const restored = await startTestService(t, env)
    leaveUncompared(restored)
    await untilLogged(restored, 2)
    const after = await readLog(`${restored.url}/log`, await logKey(restored.url))
    assert.deepEqual(after.raw, before.raw)
    const shown = await fetch(`${restored.url}/api/agents/${did}`)
    assert.equal(((await shown.json()) as { status: string }).status, 'revoked')
  },
)

test(
  'log accept and log new-epoch that were killed with -9 at any time are run again, and complete',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const { env } = service
    const owner = await service.operator.addVerifiedOwner()
    const did = await claimAgent(service, owner)
    await untilLogged(service, 1)
    const [, size = '', root = ''] = (
      await (await fetch(`${service.url}/log/checkpoint`)).text()
    ).split('\n')
    await service.stop()

    rmSync(join(env.DATA_DIR as string, ANCHOR_FILE))
    const accept = ['log', 'accept', '--size', size, '--root', root]
    for (const ms of KILLED_AFTER_MS) await killAfter(ms, env, ...accept)
    assert.equal((await countersignd(env, ...accept)).code, 0)
    const file = join(env.DATA_DIR as string, serviceKeyName('log'))
    const key = readFileSync(file)
    // As a run leaves it that was killed once it had made the new key.
    renameSync(file, `${file}-1`)
    copyFileSync(join(env.DATA_DIR as string, serviceKeyName('webhook')), file)
    for (const ms of KILLED_AFTER_MS) await killAfter(ms, env, 'log', 'new-epoch')
    assert.equal((await countersignd(env, 'log', 'new-epoch')).code, 0)
    assert.deepEqual(readFileSync(`${file}-1`), key)

    const again = await startTestService(t, env)
    await claimAgent(again, owner, newKey(), 'second')
    await untilTicked(again, async () => (await fetch(`${again.url}/log/proof/${did}`)).ok)
    assert.equal((await readiness(again)).state, 'ok')
    await assertVerifies(again, tempDir(t))
    assert.match((await countersignd(env, 'doctor')).stdout, /ok +stored log: /)
  },
)

test('a new epoch names the old log, has a new key, and knows every agent', async (t) => {
  const service = await startTestService(t)
  const { env } = service
  const owner = await service.operator.addVerifiedOwner()
  const first = await claimAgent(service, owner)
  const second = await claimAgent(service, owner, newKey(), 'second')
  await untilLogged(service, 2)
  const old = await readLog(`${service.url}/log`, await logKey(service.url))
  await service.stop()
  const begun = await countersignd(env, 'log', 'new-epoch', '--json')
  assert.equal(begun.code, 0, begun.stderr)
  const { origin, verifierKey } = JSON.parse(begun.stdout) as Record<string, string>
  assert.equal(origin, old.origin.replace(/1$/, '2'))

  const again = await startTestService(t, env)
  await untilLogged(again, 4)
  const info = await logInfo(again.url)
  assert.equal(info.verifierKey, verifierKey)
  assert.deepEqual(
    info.epochs.map(({ epoch, size }) => [epoch, size]),
    [
      [1, 2],
      [2, 4],
    ],
  )
  const key = parseVerifierKey(info.verifierKey)
  const oldKey = parseVerifierKey(info.epochs[0]?.verifierKey ?? '')
  assert.ok(key && oldKey)
  assert.notDeepEqual(key.publicKey, oldKey.publicKey)
  const { entries } = await readLog(`${again.url}/log`, key)
  const [epoch, ...rest] = entries
  assert.ok(epoch?.type === 'epoch')
  assert.equal(epoch.previous.origin, old.origin)
  assert.equal(epoch.previous.size, 2)
  assert.equal(epoch.previous.root, Buffer.from(old.root).toString('base64'))
  assert.deepEqual(
    rest.filter(isAgentEntry).map(({ type, did, prev }) => [type, did, prev]),
    [
      ['existing', first, null],
      ['existing', second, null],
    ],
  )
  assert.equal(entries.at(-1)?.type, 'complete')
  assert.deepEqual((await readLog(`${again.url}/log/1`, oldKey)).raw, old.raw)
  await claimAgent(again, owner, newKey(), 'third')
  await untilLogged(again, 5)
})

test('a database from before the log begins with an entry for each agent, in the order of the claims', async (t) => {
  const service = await startTestService(t)
  const { env } = service
  const owner = await service.operator.addVerifiedOwner()
  const dids: string[] = []
  for (let i = 0; i < 3; i++) dids.push(await claimAgent(service, owner, newKey(), `agent ${i}`))
  await untilLogged(service, 3)
  await service.stop()
  // As the migration leaves it: no log, and no node that has signed one.
  rmSync(join(env.DATA_DIR as string, ANCHOR_FILE))
  await withRaw(service.settings, async (raw) => {
    for (const table of ['log_tiles', 'log_entries', 'log_epochs', 'log_queue'])
      await raw.exec(`DELETE FROM ${table}`)
  })
  const upgraded = await startTestService(t, env)
  await untilLogged(upgraded, 4)
  const { entries } = await readLog(`${upgraded.url}/log`, await logKey(upgraded.url))
  assert.deepEqual(
    entries.map((entry) => [entry.type, isAgentEntry(entry) ? entry.did : null]),
    [...dids.map((did) => ['existing', did]), ['complete', null]],
  )
  assert.equal((await logInfo(upgraded.url)).completeFrom?.index, 3)
  const proof = await fetch(`${upgraded.url}/log/proof/${dids[1]}`)
  assert.equal(proof.status, 200)
})
