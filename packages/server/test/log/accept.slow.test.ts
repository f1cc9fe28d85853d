import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LogReport } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { ANCHOR_FILE } from '../../src/log/anchor.ts'
import { mirrorOf } from './mirror-of.ts'

test('a log whose log-head was deleted stays halted until the operator accepts a state that the database has', async (t) => {
  const service = await startTestService(t)
  const { env } = service
  const owner = await service.operator.addVerifiedOwner()
  await claimAgent(service, owner)
  await untilLogged(service, 1)
  const [origin = '', size = '', root = ''] = (
    await (await fetch(`${service.url}/log/checkpoint`)).text()
  ).split('\n')
  const mirror = await mirrorOf(service, tempDir(t))
  await claimAgent(service, owner, newKey(), 'second')
  await untilLogged(service, 2)
  await service.stop()
  rmSync(join(service.settings.dataDir, ANCHOR_FILE))

  const again = await startTestService(t, env)
  const log = async () =>
    ((await (await fetch(`${again.url}/readyz`)).json()) as { log: LogReport }).log
  await untilTicked(again, async () => (await log()).code === 'no-anchor')
  assert.equal((await fetch(`${again.url}/log/checkpoint`)).status, 503)
  assert.match((await countersignd(env, 'doctor')).stdout, /warn {2}transparency log: .*log accept/)
  // The mirror is older than the database: it says what to accept.
  const older = await countersignd(env, 'log', 'recover', '--from', mirror)
  assert.match(older.stderr, new RegExp(`log accept --size 1 --root ${root.replaceAll('+', '.')}`))
  const accept = (...args: string[]) => countersignd(env, 'log', 'accept', ...args)
  for (const args of [
    [],
    ['--size', size],
    ['--size', '0', '--root', root],
    ['--size', '3', '--root', root],
    ['--size', '2', '--root', root],
    ['--size', size, '--root', 'x'],
    ['--size', size, '--root', root, '--accept-fork', origin],
    ['--accept-fork', 'other.example/log/1'],
  ]) {
    assert.notEqual((await accept(...args)).code, 0, args.join(' '))
    assert.equal((await log()).code, 'no-anchor')
  }
  const accepted = await accept('--size', size, '--root', root)
  assert.equal(accepted.code, 0, accepted.stderr)
  await untilLogged(again, 2)
  assert.deepEqual([(await log()).state, (await log()).code], ['ok', null])
})
