import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { before, test } from 'node:test'
import {
  Agent,
  type AgentRequestInit,
  DelegatedAgent,
  newKey,
  type PendingApproval,
  Registry,
} from '../packages/sdk/src/index.ts'
import { failsWith } from '../packages/sdk/test/support/fails.ts'
import { allowDelegation } from './support/allow-delegation.ts'
import {
  type ApprovalWorld,
  allowApprovals,
  approve,
  deny,
  newApprovalWorld,
} from './support/approvals.ts'
import { startApprovingSite } from './support/approving-site.ts'
import { fileCleanup } from './support/file-cleanup.ts'
import { startSite } from './support/impostor.ts'
import { PATIENT_CLIENT } from './support/patient-client.ts'
import { startTestService, type TestService } from './support/service.ts'

// An agent, its owner and a site: from the refusal to the admitted request, by the real service.

const cleanup = fileCleanup()
let service: TestService
let world: ApprovalWorld
let registry: Registry

before(async () => {
  service = await startTestService(cleanup)
  world = await newApprovalWorld(service)
  registry = new Registry(service.url, PATIENT_CLIENT)
})

function agentFor(...audiences: string[]): Agent {
  const { key, did } = world
  const signer = {
    publicKey: new Uint8Array(Buffer.from(key.publicKey, 'base64')),
    sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, key.privateKey)),
  }
  return new Agent({ registry, signer, did, audiences })
}

let orders = 0
/** A purchase that differs from every other one. */
function purchase(approval?: AgentRequestInit['approval']): AgentRequestInit {
  orders += 1
  const body = JSON.stringify({ order: orders, total: '129.00', currency: 'EUR' })
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  return { method: 'POST', headers, body, ...(approval !== undefined && { approval }) }
}

/** Approves as soon as the owner is asked. */
const approving = {
  message: 'Printer paper, as every month',
  onPending: async ({ id }: PendingApproval) => {
    assert.equal((await approve(world, id)).status, 200)
  },
}

test('fetch asks the owner if the site requires an approval, and sends the same bytes once more', async (t) => {
  const { site, received } = await startApprovingSite(t, service)
  const agent = agentFor(site)
  const asked: PendingApproval[] = []
  const onPending = async (pending: PendingApproval) => {
    asked.push(pending)
    await approving.onPending(pending)
  }
  const init = purchase({ ...approving, onPending })
  const response = await agent.fetch(`${site}/orders?a=b#part`, init)
  assert.equal(response.status, 200, await response.clone().text())
  const [pending] = asked
  assert.equal(await response.text(), pending?.id)
  assert.equal(pending?.approveUrl, `${service.url}/dashboard/approvals/${pending?.id}`)
  assert.deepEqual(
    received.map(({ approval }) => approval !== undefined),
    [false, true],
  )

  const token = String(received[1]?.approval)
  const again = await agent.fetch(`${site}/orders?a=b`, { ...init, approval: token })
  const { error } = (await again.json()) as { error: { reasons: string[] } }
  assert.deepEqual([again.status, error.reasons[0]], [403, 'approval-used'])
  // Without the option, the refusal is the answer.
  const plain = await agent.fetch(`${site}/orders`, purchase())
  assert.equal(plain.status, 403)
  const open = await startApprovingSite(t, service, {})
  const unasked = { onPending: () => assert.fail('nobody requires it') }
  const free = await agentFor(open.site).fetch(`${open.site}/orders`, purchase(unasked))
  assert.deepEqual([free.status, await free.text()], [200, 'none'])
})

test('a token that was asked for beforehand is sent, by a delegate too; a redirect drops it', async (t) => {
  const { site, received } = await startApprovingSite(t, service, { approval: {}, delegation: {} })
  const agent = agentFor(site)
  const init = purchase()
  const tokenFor = async (path: string) => {
    const pending = await agent.requestApproval(site + path, init, { validSeconds: 60 })
    await approving.onPending(pending)
    return pending.wait()
  }
  const token = await tokenFor('/orders')
  assert.equal((await agent.fetch(`${site}/orders`, { ...init, approval: token })).status, 200)

  await allowDelegation(service, world.owner.ownerId, world.did, 1)
  const key = await newKey()
  const publicKey = Buffer.from(key.publicKey).toString('base64')
  const { chain } = await agent.delegate({ publicKey, origins: [site], methods: ['POST'] })
  const worker = new DelegatedAgent({ chain, signer: key })
  const own = await tokenFor('/orders/1')
  assert.equal((await worker.fetch(`${site}/orders/1`, { ...init, approval: own })).status, 200)
  const asking = { ...init, approval: {} as never }
  await failsWith('INVALID_ARGUMENT', () => worker.fetch(`${site}/orders`, asking))

  received.length = 0
  const target = await tokenFor('/orders/2')
  const moved = await agent.fetch(`${site}/to?/orders/2`, { ...init, approval: target })
  assert.equal(moved.status, 403)
  assert.deepEqual(received, [
    { path: '/to', approval: target },
    { path: '/orders/2', approval: undefined },
  ])
})

test('a denial, an end and an owner who does not want to be asked are errors of their own', async (t) => {
  const { site } = await startApprovingSite(t, service)
  const agent = agentFor(site)
  const denying = { onPending: async ({ id }: PendingApproval) => void (await deny(world, id)) }
  const denied = await failsWith('APPROVAL_DENIED', () =>
    agent.fetch(`${site}/orders`, purchase(denying)),
  )
  assert.match(denied.message, /denied/)
  const reason = new Error('the program ends')
  const impatient = { signal: AbortSignal.abort(reason) }
  const aborted = agent.fetch(`${site}/orders`, purchase(impatient))
  await assert.rejects(aborted)
  const html = { ...purchase(approving), headers: { 'content-type': 'text/plain' } }
  await failsWith('VALIDATION_ERROR', () => agent.fetch(`${site}/orders`, html))
  const failing = { onPending: () => Promise.reject(reason) }
  await assert.rejects(agent.fetch(`${site}/orders`, purchase(failing)), reason)
  await allowApprovals(world, false)
  await failsWith('APPROVALS_OFF', () => agent.fetch(`${site}/orders`, purchase(approving)))
  await allowApprovals(world)
})

test('if the site cannot tell whether an approval was used, fetch does not repeat the request', async (t) => {
  let requests = 0
  const site = await startSite(t, (request, response) => {
    requests += 1
    request.resume()
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '0' })
    response.end(
      JSON.stringify({ error: { code: 'UNAVAILABLE', reasons: ['approval-unchecked'] } }),
    )
  })
  const init = purchase('a.b.c')
  await failsWith('APPROVAL_UNCHECKED', () => agentFor(site).fetch(`${site}/orders`, init))
  assert.equal(requests, 1)
})
