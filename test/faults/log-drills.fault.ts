import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { LogReport } from '@countersign/protocol'
import { mirrorOf } from '../../packages/server/test/log/mirror-of.ts'
import { assertVerifies, verifyLog } from '../../packages/server/test/log/restored.ts'
import { certificateOf } from '../support/agent-certificates.ts'
import { leaveUncompared } from '../support/changes-complete.ts'
import { startSite } from '../support/impostor.ts'
import { newKey, type TestKey } from '../support/key.ts'
import { rotateTo } from '../support/key-operations.ts'
import { untilLogged } from '../support/log-client.ts'
import { SQLITE_ONLY } from '../support/postgres.ts'
import { verifyBody } from '../support/refused-posts.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  startTestService,
  type TestService,
  tempDir,
} from '../support/service.ts'
import { untilTicked } from '../support/until.ts'
import { report } from './support/report.ts'

/* The drills of docs/operating.md, with the commands that an operator runs. Each prints what it did and saw. */

/** A service with two agents and a backup, and what was logged after it: a revocation, a rotation and a claim. */
async function start(t: TestContext) {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const old = newKey()
  const rotated = await claimAgent(service, owner, old)
  const revoked = await claimAgent(service, owner, newKey(), 'revoked later')
  await untilLogged(service, 2)
  const backup = join(tempDir(t), 'backup.db')
  await command(service, 0, 'backup', backup)
  await command(service, 0, 'agent', 'revoke', revoked)
  const next = newKey()
  const rotation = await rotateTo(service, rotated, { old, next, sequence: 2 })
  assert.equal(rotation.status, 200, rotation.text)
  await claimAgent(service, owner, newKey(), 'claimed later')
  await untilLogged(service, 5)
  const home = tempDir(t)
  await assertVerifies(service, home)
  return { service, owner, backup, rotated, revoked, old, next, home }
}

async function command({ env }: Pick<TestService, 'env'>, code: number, ...args: string[]) {
  const ran = await countersignd(env, ...args)
  assert.equal(ran.code, code, ran.stdout + ran.stderr)
  return ran.stdout
}

/** Serves a mirror's folder as any web server can. */
function serve(t: TestContext, folder: string): Promise<string> {
  return startSite(t, async (request, response) => {
    const file = join(folder, new URL(request.url ?? '', 'http://x').pathname)
    const isFile = file.startsWith(folder) && statSync(file, { throwIfNoEntry: false })?.isFile()
    if (isFile) response.end(readFileSync(file))
    else response.writeHead(404).end()
  })
}

/** A new machine with the keys of the backup, and nothing else. */
function newMachine(t: TestContext, { settings, env }: TestService): Record<string, string> {
  const DATA_DIR = join(tempDir(t), 'data')
  mkdirSync(DATA_DIR, { mode: 0o700 })
  const isKey = (name: string) => /^(identity-pepper|.*-key|issuer-key-.*)$/.test(name)
  for (const name of readdirSync(settings.dataDir).filter(isKey))
    cpSync(join(settings.dataDir, name), join(DATA_DIR, name))
  return { ...env, DATA_DIR }
}

async function logOf(service: TestService): Promise<LogReport> {
  const answer = await fetch(`${service.url}/readyz`)
  return ((await answer.json()) as { log: LogReport }).log
}

async function startAgain(t: TestContext, env: Record<string, string>): Promise<TestService> {
  const service = await startTestService(t, env)
  leaveUncompared(service)
  return service
}

const verifies = async ({ url }: TestService, key: TestKey) =>
  (await postJson(`${url}/api/v1/agent/verify`, verifyBody(key))).status

const statusOf = async ({ url }: TestService, did: string) =>
  ((await (await fetch(`${url}/api/agents/${did}`)).json()) as { status: string }).status

test('the machine is lost, and the log has a mirror', SQLITE_ONLY, async (t) => {
  const before = await start(t)
  const mirror = await serve(t, await mirrorOf(before.service, tempDir(t)))
  await before.service.stop()
  const env = newMachine(t, before.service)
  const restored = await command({ env }, 3, 'restore', before.backup)
  const halted = await startAgain(t, env)
  await untilTicked(halted, async () => (await logOf(halted)).code === 'no-anchor')
  await halted.stop()
  const recovered = await command({ env }, 0, 'log', 'recover', '--from', mirror)
  const service = await startAgain(t, env)
  await untilLogged(service, 5)
  await assertVerifies(service, before.home)
  const saw = [await statusOf(service, before.revoked), await verifies(service, before.old)]
  report(t, {
    'restore said': restored,
    'log recover said': recovered,
    'the revoked agent, and the status of the old key at /verify': saw.join(', '),
    'log verify by a site that knew the log': 'exit 0',
  })
  assert.deepEqual([...saw, await verifies(service, before.next)], ['revoked', 404, 200])
})

test('the machine is lost, and the log has no mirror', SQLITE_ONLY, async (t) => {
  const before = await start(t)
  await before.service.stop()
  const env = newMachine(t, before.service)
  await command({ env }, 3, 'restore', before.backup)
  await command({ env }, 0, 'agent', 'revoke', before.revoked)
  const begun = await command({ env }, 0, 'log', 'new-epoch')
  const service = await startAgain(t, env)
  // The entry of the epoch, two agents, and that the log is complete.
  await untilLogged(service, 4)
  await assertVerifies(service, tempDir(t))
  const known = await verifyLog(service, before.home)
  report(t, {
    'log new-epoch said': begun,
    'log verify by a site that knew the old log': known.stderr,
  })
  assert.equal(known.code, 4, 'who has the old key notices that the log is another one')
})

test(
  'yesterday’s backup is restored on the same machine; a key was rotated in between',
  SQLITE_ONLY,
  async (t) => {
    const before = await start(t)
    const mirror = await mirrorOf(before.service, tempDir(t))
    await before.service.stop()
    const { env } = before.service
    const restored = await command({ env }, 3, 'restore', before.backup)
    const service = await startAgain(t, env)
    await untilTicked(service, async () => (await logOf(service)).code === 'behind')
    const early = await verifies(service, before.old)
    await command({ env }, 0, 'log', 'recover', '--from', mirror)
    await untilTicked(service, async () => (await verifies(service, before.next)) === 200)
    const late = await verifies(service, before.old)
    await untilLogged(service, 5)
    await assertVerifies(service, before.home)
    report(t, {
      'restore said': restored,
      'the old key at /verify, before and after log recover': `${early}, ${late}`,
    })
    assert.deepEqual([early, late], [200, 404])
  },
)

test('the key of the issuer is stolen', SQLITE_ONLY, async (t) => {
  const { service, rotated, home } = await start(t)
  const stolen = await certificateOf(service, rotated)
  const rotation = await command(service, 0, 'issuer-key', 'rotate', '--compromised')
  const keyOf = (jws: string) =>
    JSON.parse(Buffer.from(jws.split('.')[0] ?? '', 'base64url').toString()).kid as string
  await untilTicked(service, async () => {
    return keyOf(await certificateOf(service, rotated)) !== keyOf(stolen)
  })
  const keys = await (await fetch(`${service.url}/.well-known/jwks.json`)).text()
  await assertVerifies(service, home)
  report(t, {
    'issuer-key rotate said': rotation,
    'the stolen key is in the key set': String(keys.includes(keyOf(stolen))),
    'the log': 'goes on, and verifies',
  })
  assert.ok(!keys.includes(keyOf(stolen)))
})
