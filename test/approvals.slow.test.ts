import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { run } from '../packages/cli/src/run.ts'
import { cliFor, errorIn } from '../packages/cli/test/support/cli.ts'
import { allowApprovals, approve, deny, newApprovalWorld } from './support/approvals.ts'
import { startApprovingSite } from './support/approving-site.ts'
import { startTestService } from './support/service.ts'
import { until } from './support/until.ts'

test('countersign fetch --approve prints where the owner decides, waits, and sends the request once more', async (t) => {
  const service = await startTestService(t)
  const world = await newApprovalWorld(service)
  const { site } = await startApprovingSite(t, service)
  const cli = cliFor(t, { COUNTERSIGN_URL: service.url })
  mkdirSync(dirname(cli.keyFile), { recursive: true, mode: 0o700 })
  const pem = world.key.privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(cli.keyFile, pem, { mode: 0o600 })
  const order = (number: number) => [
    'fetch',
    `${site}/orders`,
    ...['-d', JSON.stringify({ number, total: '129.00' })],
    ...['-H', 'Content-Type: application/json'],
  ]
  const refused = await cli.run(...order(1))
  assert.deepEqual([refused.code, /approval-required/.test(refused.stdout)], [4, true])

  /** Decides once the command says where. */
  const decided = async (decide: (id: string) => Promise<unknown>, ...args: string[]) => {
    const io = cli.io()
    const ending = run(args, io)
    const idIn = () => /\/dashboard\/approvals\/(ap_[\w-]{22})/.exec(io.written().stderr)?.[1]
    await until(async () => idIn() !== undefined)
    await decide(idIn() ?? '')
    return { code: await ending, ...io.written() }
  }
  const message = ['--approve-message', 'Paper, as every month']
  const approved = await decided((id) => approve(world, id), ...order(2), ...message)
  assert.equal(approved.code, 0, approved.stderr)
  assert.match(approved.stdout, /^ap_/)
  const denied = await decided((id) => deny(world, id), '--json', ...order(3), '--approve')
  assert.equal(denied.code, 4)
  assert.match(denied.stderr, /"APPROVAL_DENIED"/)
  await allowApprovals(world, false)
  const off = await cli.run('--json', ...order(4), '--approve')
  assert.deepEqual([off.code, errorIn(off).code], [4, 'APPROVALS_OFF'])
})
