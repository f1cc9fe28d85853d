import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentOf, gateway } from '@countersign/gateway/fetch'
import { Agent, newKey, Registry, verifyCertificate } from '@countersign/sdk'
import { certificateOf, certificatePath } from '../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { olderNonceStore } from '../../../../test/support/older-nonce-store.ts'
import { POSTGRES_ONLY, type PostgresServer } from '../../../../test/support/postgres.ts'
import { countersignd, startTestService } from '../../../../test/support/service.ts'
import {
  askForFeed,
  listedStatus,
  readFeed,
  readSnapshot,
  referenceIn,
  statusInSnapshot,
} from '../../../../test/support/status-feed.ts'
import { until } from '../../../../test/support/until.ts'
import { databaseAt, lastEvent, on, startPair, stopReplication } from './support.ts'

const SHOP = 'https://shop.example'
test(
  'after a failover to an asynchronous standby that lost events, what it does not know is invalid at once, and gateways start again',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby } = await startPair(t)
    const node = await startTestService(t, { DATABASE_URL: databaseAt(primary, standby) })
    const registry = new Registry(node.url)
    const owner = await node.operator.addVerifiedOwner()
    const claimed = async (label: string) => {
      const signer = await newKey()
      const agent = new Agent({ registry, signer, audiences: [SHOP], certificates: true })
      const { did } = await agent.claim(await node.operator.issueToken(owner), label)
      return { agent, did }
    }
    const certified = async (label: string) => {
      const { agent, did } = await claimed(label)
      const certificate = await certificateOf(node, did)
      return { agent, did, certificate, entry: referenceIn(certificate) }
    }
    const [revoked, second] = [await certified('revoked'), await certified('second')]
    const late = await claimed('late')
    const at = await lastEvent(primary)
    await until(async () => (await lastEvent(standby)) === at)
    const start = await readFeed(node)

    const decisions: (string | null)[] = []
    const protect = gateway({
      service: node.url,
      audiences: [SHOP],
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy: { requireProof: true, trust: [{ issuer: node.url, didPrefix: 'svc:agent:' }] },
      onDecision: ({ reasons }) => decisions.push(reasons[0].code),
    })
    t.after(() => protect.close())
    const shop = protect((request: Request) => new Response(agentOf(request).did))
    /** A request that was signed with certificate and staple, as often as needed. */
    const visit = async ({ agent }: { agent: Agent }, certificate: string) => {
      const signed = await agent.sign(SHOP)
      if (signed.headers.get('serviceid-certificate') !== certificate) return null
      return (await shop(signed)).status
    }
    assert.equal(await visit(second, await tokenOf(second.agent)), 200)

    await stopReplication({ primary, standby })
    const lost = await certified('lost')
    const lateCertificate = await certificateOf(node, late.did)
    const lateEntry = referenceIn(lateCertificate)
    const lostToken = await tokenOf(lost.agent)
    assert.equal(await visit(lost, lostToken), 200)
    const run = async (server: PostgresServer, ...args: string[]) => {
      const direct = { ...node.env, DATABASE_URL: databaseAt(server), PORT: '0' }
      const done = await countersignd(direct, ...args)
      assert.equal(done.code, 0, done.stderr)
    }
    await run(primary, 'agent', 'revoke', revoked.did)
    await until(async () => (await listedStatus(node, revoked.entry)) === 1)
    const before = await readFeed(node, start.head)
    assert.equal(before.changes.at(-1)?.status, 1)

    process.kill(primary.pid, 'SIGKILL')
    assert.equal((await on(standby, 'select pg_promote() as done'))[0]?.done, true)
    // The numbers of lost events are used again, for the suspension of another agent.
    await run(standby, 'agent', 'suspend', second.did)

    await until(async () => (await askForFeed(node, before.head)).status === 410)
    // By this question the node may have learned of the loss: it loads its lists again.
    await until(async () => (await askForFeed(node)).status === 200)
    for (const { head } of [start, before]) {
      assertRefused(await askForFeed(node, head), 410, 'CURSOR_EXPIRED', /api\/v1\/snapshot/)
    }
    const { claims, head } = await readFeed(node)
    assert.notEqual(claims.epoch, start.claims.epoch)

    // The database does not know of these certificates, so nobody could revoke them.
    for (const entry of [lost.entry, lateEntry]) {
      assert.equal(await listedStatus(node, entry), 1)
      const { snapshot, claims: manifest } = await readSnapshot(node)
      assert.equal(await statusInSnapshot(snapshot, entry), 1)
      assert.equal(manifest.epoch, claims.epoch)
    }
    await assert.rejects(verifyCertificate(lateCertificate, { issuers: [node.url] }), {
      code: 'CERTIFICATE_REVOKED',
    })
    assert.equal(await listedStatus(node, second.entry), 2)
    assert.equal(await listedStatus(node, revoked.entry), 0, 'the revocation is lost')
    assert.equal((await ask(node, certificatePath(lost.did))).status, 404)
    await until(async () => (await visit(lost, lostToken)) === 401)
    assert.equal(decisions.at(-1), 'certificate-replaced')
    const again = referenceIn(await certificateOf(node, late.did))
    assert.notEqual(again.list, lateEntry.list, 'no entry of an old list is allocated again')

    // The operator repeats what was lost; the feed goes on in the new epoch.
    await run(standby, 'agent', 'revoke', revoked.did)
    await until(async () => (await listedStatus(node, revoked.entry)) === 1)
    const next = await readFeed(node, head)
    assert.deepEqual(next.claims.epoch, claims.epoch)
    const last = next.changes.at(-1)
    assert.deepEqual(
      { list: last?.list, idx: last?.idx, status: last?.status },
      { ...revoked.entry, status: 1 },
    )
    assert.equal(await shop(await late.agent.sign(SHOP)).then(({ status }) => status), 200)
  },
)

/** The certificate that an agent sends now. */
async function tokenOf(agent: Agent): Promise<string> {
  const { headers } = await agent.sign(SHOP)
  return headers.get('serviceid-certificate') ?? assert.fail('no certificate')
}
