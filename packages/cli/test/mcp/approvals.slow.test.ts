import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { before, test } from 'node:test'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  allowApprovals,
  approve,
  deny,
  newApprovalWorld,
} from '../../../../test/support/approvals.ts'
import { startApprovingSite } from '../../../../test/support/approving-site.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { type Cli, cliFor } from '../support/cli.ts'
import { startStdioHost, textOf } from '../support/mcp.ts'

const cleanup = fileCleanup()
let service: TestService
let world: ApprovalWorld
let cli: Cli
let site: string

before(async () => {
  service = await startTestService(cleanup)
  world = await newApprovalWorld(service)
  const started = await startApprovingSite(cleanup, service, { approval: {}, delegation: {} })
  site = started.site
  cli = cliFor(cleanup, { COUNTERSIGN_URL: service.url })
  mkdirSync(dirname(cli.keyFile), { recursive: true, mode: 0o700 })
  const pem = world.key.privateKey.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(cli.keyFile, pem, { mode: 0o600 })
})

interface Fetched {
  readonly status: number | null
  readonly untrusted: { readonly lines: readonly string[] } | null
  readonly approval: { readonly approvalId: string; readonly approveUrl: string | null } | null
}

let orders = 0
/** A purchase that differs from every other one. */
function purchase() {
  orders += 1
  const body = JSON.stringify({ order: orders, total: '129.00' })
  return { url: `${site}/orders`, headers: { 'Content-Type': 'application/json' }, body }
}

const pendingIds = async () => {
  const { approvals } = JSON.parse((await world.owner.get(`${APPROVALS}?state=pending`)).text)
  return approvals.map(({ id }: { id: string }) => id) as string[]
}

test('fetch asks the owner, returns the id after a while, and goes on with it', async (t) => {
  const host = await startStdioHost(t, cli, '--audience', site, '--approval-wait', '0')
  const args = purchase()
  const refused = await host.data<Fetched>('fetch', args)
  assert.deepEqual([refused.status, refused.approval], [403, null])
  assert.deepEqual(await pendingIds(), [])

  const first = await host.data<Fetched>('fetch', { ...args, approval: true })
  const { approvalId = '', approveUrl } = first.approval ?? {}
  assert.equal(approveUrl, `${service.url}/dashboard/approvals/${approvalId}`)
  assert.deepEqual([first.status, first.untrusted], [null, null])
  assert.deepEqual(await pendingIds(), [approvalId])
  // Without the id, the same question is the same approval.
  const again = await host.call('fetch', { ...args, approval: true })
  assert.match(textOf(again), new RegExp(`approvalId ${approvalId}\\.$`))
  const waiting = await host.data<Fetched>('fetch', { ...args, approvalId })
  assert.deepEqual(waiting.approval, { approvalId, approveUrl: null })

  assert.equal((await approve(world, approvalId)).status, 200)
  const other = { ...args, body: args.body.replace('129', '999'), approvalId }
  const mismatch = await host.data<Fetched>('fetch', other)
  assert.match(mismatch.untrusted?.lines.join('') ?? '', /approval-mismatch/)
  const admitted = await host.data<Fetched>('fetch', { ...args, approvalId })
  assert.deepEqual([admitted.status, admitted.untrusted?.lines], [200, [approvalId]])
  const used = await host.data<Fetched>('fetch', { ...args, approvalId })
  assert.match(used.untrusted?.lines.join('') ?? '', /approval-used/)
})

test('fetch waits for the decision, and sends the request once more', async (t) => {
  const host = await startStdioHost(t, cli, '--audience', site)
  const fetched = host.data<Fetched>('fetch', { ...purchase(), approval: true })
  await until(async () => (await pendingIds()).length === 1)
  const [id = ''] = await pendingIds()
  assert.equal((await approve(world, id)).status, 200)
  assert.deepEqual((await fetched).untrusted?.lines, [id])
})

test('a denial and an owner who does not want to be asked are errors', async (t) => {
  const host = await startStdioHost(t, cli, '--audience', site, '--approval-wait', '0')
  const args = { ...purchase(), approval: true }
  const { approval } = await host.data<Fetched>('fetch', args)
  const approvalId = approval?.approvalId ?? ''
  await deny(world, approvalId)
  assert.match(await host.refusal('fetch', { ...args, approvalId }), /^APPROVAL_DENIED: /)
  await allowApprovals(world, false)
  assert.match(await host.refusal('fetch', args), /^APPROVALS_OFF: .*Ask the owner/)
  await allowApprovals(world)
  const unknown = `ap_${'A'.repeat(22)}`
  assert.match(await host.refusal('fetch', { ...args, approvalId: unknown }), /^NOT_FOUND: /)
  assert.match(await host.refusal('fetch', { ...args, approvalId: '../x' }), /^USAGE: |Invalid/)
})

test('a delegate cannot ask, and uses an approval that the agent has asked for', async (t) => {
  await allowDelegation(service, world.owner.ownerId, world.did, 1)
  const worker = cliFor(t, { COUNTERSIGN_URL: service.url })
  const { publicKey } = await worker.json<{ publicKey: string }>('keygen')
  const { chain } = await cli.json<{ chain: string }>(
    ...['delegate', '--to', publicKey, '--origin', site],
  )
  const host = await startStdioHost(t, worker, '--chain', chain, '--approval-wait', '0')
  const args = purchase()
  const asking = await host.refusal('fetch', { ...args, approval: true })
  assert.match(asking, /^FORBIDDEN: A delegated key cannot ask/)
  const agent = await startStdioHost(t, cli, '--audience', site, '--approval-wait', '0')
  const { approval } = await agent.data<Fetched>('fetch', { ...args, approval: true })
  const approvalId = approval?.approvalId ?? ''
  assert.equal((await approve(world, approvalId)).status, 200)
  const fetched = await host.data<Fetched>('fetch', { ...args, approvalId })
  assert.deepEqual([fetched.status, fetched.untrusted?.lines], [200, [approvalId]])
})

test('the time to wait is a number of seconds', async () => {
  const { code, stderr } = await cli.run('mcp', '--approval-wait', 'a minute')
  assert.deepEqual([code, /--approval-wait must be/.test(stderr)], [2, true])
})
