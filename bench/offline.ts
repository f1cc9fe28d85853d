import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Agent, isSignature, newKey, Registry, type Signer } from '@countersign/sdk'
import { decide } from '../packages/gateway/src/decision/decide.ts'
import { outcomeOf } from '../packages/gateway/src/decision/outcome.ts'
import { gateway } from '../packages/gateway/src/fetch.ts'
import { TrustedIssuer } from '../packages/gateway/src/issuers/trusted-issuers.ts'
import { readPolicy } from '../packages/gateway/src/policy/read-policy.ts'
import { namingFor } from '../packages/protocol/src/index.ts'
import { startTestService, type TestService } from '../test/support/service.ts'
import { setStatus } from '../test/support/set-status.ts'
import { quantile } from './statistics.ts'

/**
 * npx node bench/offline.ts [--revocations 1000 | 0] [--decisions 20000]: decisions of a gateway by certificates, with the service
 * switched off, and how long a revocation takes to arrive. Prints a line for each; docs/performance.md has the results.
 */

const SHOP = 'https://shop.example'
const { values } = parseArgs({
  options: {
    revocations: { type: 'string', default: '1000' },
    decisions: { type: 'string', default: '20000' },
  },
})
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => void ends.push(end) }

async function main(): Promise<void> {
  const service = await startTestService(cleanup, { RATE_LIMITS: 'off' })
  const revocations = Number(values.revocations)
  for (const gateways of revocations > 0 ? [1, 100] : []) {
    await measureArrival(service, gateways, revocations)
  }
  const { certified, trusted } = await certifiedAgent(service)
  await service.stop()
  await measureDecisions(certified, trusted, Number(values.decisions))
  await trusted.release()
}

/** Gateways in a process of their own, which report when their follower refuses an agent. */
async function measureArrival(service: TestService, gateways: number, count: number) {
  const owner = await service.operator.addVerifiedOwner()
  const registry = new Registry(service.url)
  const agents: { did: string; list: number; idx: number }[] = []
  for (let i = 0; i < count; i += 1) {
    const agent = new Agent({ registry, signer: await newKey() })
    const { did } = await agent.claim(await service.operator.issueToken(owner))
    const payload = (await registry.certificate(did)).split('.')[1] ?? ''
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const { uri, idx } = claims.status.status_list
    agents.push({ did, list: Number(uri.split('/').at(-1)), idx })
  }
  const child = fork(fileURLToPath(import.meta.resolve('./offline-followers.ts')), [
    service.url,
    String(gateways),
  ])
  await once(child, 'message')
  const times: number[] = []
  for (const { did, list, idx } of agents) {
    const armed = once(child, 'message')
    child.send({ list, idx })
    await armed
    const arrived = once(child, 'message')
    const from = performance.timeOrigin + performance.now()
    await setStatus(service, did, 'revoked')
    const [at] = (await arrived) as [number]
    times.push(at - from)
  }
  child.send('stop')
  await once(child, 'exit')
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => quantile(times, part).toFixed(1))
  console.log(
    `revocation to refusal, ${gateways} gateways: p50 ${p50} ms, p99 ${p99} ms, maximum ${most} ms (${count} revocations)`,
  )
}

async function certifiedAgent(service: TestService) {
  const registry = new Registry(service.url)
  const signer = await newKey()
  const certified = new Agent({ registry, signer, audiences: [SHOP], certificates: true })
  const owner = await service.operator.addVerifiedOwner()
  await certified.claim(await service.operator.issueToken(owner))
  await certified.sign(SHOP)
  const trust = { issuer: service.url, didPrefix: 'svc:agent:', jwks: null, idHeader: 'ServiceID' }
  const trusted = new TrustedIssuer(trust, {
    ...{ maxStaleSeconds: 86_400, timeoutMs: 30_000, elapsed, now: Date.now },
    service: { issuer: service.url, base: service.url },
  })
  await trusted.follower.ready
  return { certified: Object.assign(certified, { signer }), trusted }
}

const elapsed = () => performance.now()

async function measureDecisions(
  agent: Agent & { readonly signer: Signer },
  trusted: TrustedIssuer,
  count: number,
) {
  const did = agent.did ?? ''
  const { headers } = await agent.sign(SHOP)
  const certificate = headers.get('serviceid-certificate') ?? ''
  const staple = headers.get('serviceid-status')
  const keyid = /keyid="([^"]+)"/.exec(headers.get('signature-input') ?? '')?.[1] ?? ''
  const naming = namingFor()
  const policy = readPolicy({ requireProof: true }, naming)
  const caller = { kind: 'named', did, proof: 'signature' } as const
  const once = async () => {
    const evidence = await trusted.evidence({ did, keyid, certificate, staple }, () => null)
    if (typeof evidence === 'string') throw new Error(evidence)
    const verdict = decide(policy, naming.idHeader, caller, evidence.lookup)
    return outcomeOf({ naming, policy }, caller, verdict, evidence.basis)
  }
  await repeat(once, count / 10)
  report('a decision without the signature', await repeat(once, count))

  const protect = gateway({
    service: trusted.issuer,
    audiences: [SHOP],
    nonces: { record: () => 'fresh' },
    policy: {
      requireProof: true,
      trust: [{ issuer: trusted.issuer, didPrefix: 'svc:agent:' }],
      offline: { maxStaleSeconds: 86_400 },
    },
    now: elapsed,
  })
  const handler = protect(() => new Response(null, { status: 204 }))
  const request = await agent.sign(`${SHOP}/orders`)
  const answer = async () => {
    const { status } = await handler(request)
    if (status !== 204) throw new Error(`the gateway answered ${status}`)
  }
  await repeat(answer, 200)
  const message = crypto.getRandomValues(new Uint8Array(500))
  const { signer } = agent
  const signature = await signer.sign(message)
  const verify = () => isSignature(signer.publicKey, message, signature)
  await repeat(verify, 200)
  report('verifying one Ed25519 signature', await repeat(verify, 2_000))
  report('a signed request with a known certificate, service off', await repeat(answer, 2_000))
  await protect.close()
}

async function repeat(work: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < times; i += 1) await work()
  return ((performance.now() - start) * 1000) / times
}

function report(what: string, microseconds: number): void {
  const perSecond = Math.round(1_000_000 / microseconds)
  console.log(`${what}: ${microseconds.toFixed(1)} µs (${perSecond} a second on one core)`)
}

await main().finally(async () => {
  for (const end of ends.reverse()) await end()
})
