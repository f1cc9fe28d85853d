import './without-sodium.ts'
import { fork } from 'node:child_process'
import { generateKeyPairSync, sign, verify as verifySignature } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Agent, newKey, Registry, type Signer } from '@countersign/sdk'
import { decide } from '../packages/gateway/src/decision/decide.ts'
import { outcomeOf } from '../packages/gateway/src/decision/outcome.ts'
import { gateway } from '../packages/gateway/src/fetch.ts'
import { TrustedIssuer } from '../packages/gateway/src/issuers/trusted-issuers.ts'
import { readPolicy } from '../packages/gateway/src/policy/read-policy.ts'
import { namingFor } from '../packages/protocol/src/index.ts'
import { allowDelegation } from '../test/support/allow-delegation.ts'
import { startTestService, type TestService } from '../test/support/service.ts'
import { type SignedInOwner, signIn } from '../test/support/signed-in.ts'
import { newWorker } from './delegated-worker.ts'
import { inTurns } from './in-turns.ts'
import type { OfflineDecisions, OfflineTask } from './measure-offline.ts'
import { timesOf } from './statistics.ts'

// node offline.ts '{"revocations":…,"decisions":…}': what measure-offline.ts measures, in a process of its own. Prints `RESULT {…}`.

const SHOP = 'https://shop.example'
const GATEWAYS = [1, 100]
const WAYS = ['stream', 'poll'] as const
/** A poll comes every 5 seconds: fewer of them say as much. */
const POLLED_SHARE = 0.05
const ends: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => void ends.push(end) }

async function main({ revocations, decisions }: OfflineTask): Promise<OfflineDecisions> {
  const env = { RATE_LIMITS: 'off', TRUSTED_PROXIES: '127.0.0.0/8,::1' }
  const service = await startTestService(cleanup, env)
  const arrivals = []
  for (const way of WAYS) {
    const timed = way === 'stream' ? revocations : Math.ceil(revocations * POLLED_SHARE)
    for (const gateways of GATEWAYS) {
      const times = await measureArrival(service, { gateways, way }, timed)
      arrivals.push({ gateways, way, count: timed, times: timesOf(times) })
    }
  }
  const ends = await measureEnds(service, revocations)
  const { certified, trusted } = await certifiedAgent(service)
  await service.stop()
  const microseconds = await measureDecisions(certified, trusted, decisions)
  await trusted.release()
  return { arrivals, ends, ...microseconds }
}

/** An agent with a certificate, and where its status is. */
interface Revocable {
  readonly did: string
  readonly list: number
  readonly idx: number
}

/** What an owner does to an agent, and the request for it. */
const CHANGES = {
  revocation: ['revoke', { reason: 'bench' }],
  suspension: ['suspend', { reason: 'bench' }],
  end: ['delegation/end', {}],
} as const

interface Arrival {
  readonly gateways: number
  readonly way: (typeof WAYS)[number]
  readonly change?: keyof typeof CHANGES
}

/** Suspensions and ends of delegations by turns of ten, because other programs slow all of them down. */
async function measureEnds(service: TestService, count: number) {
  const times: Record<'suspension' | 'end', number[]> = { suspension: [], end: [] }
  const turn = Math.min(10, count)
  while (times.end.length < count) {
    for (const change of ['suspension', 'end'] as const) {
      const arrival = { gateways: 1, way: 'stream', change } as const
      times[change].push(...(await measureArrival(service, arrival, turn)))
    }
  }
  return {
    count: times.end.length,
    suspension: timesOf(times.suspension),
    end: timesOf(times.end),
  }
}

/** Gateways in a process of their own, which report when all of their followers refuse an agent. */
async function measureArrival(
  service: TestService,
  { gateways, way, change = 'revocation' }: Arrival,
  count: number,
): Promise<number[]> {
  const owner = await signIn(service, await service.operator.addVerifiedOwner())
  const agents: Revocable[] = []
  const depth = change === 'end' ? 1 : 0
  for (let i = 0; i < count; i += 1) agents.push(await newAgent(service, owner, depth))
  const child = fork(fileURLToPath(import.meta.resolve('./offline-followers.ts')), [
    service.url,
    String(gateways),
    way,
  ])
  await once(child, 'message')
  const times: number[] = []
  for (const { did, list, idx } of agents) {
    const armed = once(child, 'message')
    child.send({ list, idx })
    await armed
    const arrived = once(child, 'message')
    const from = performance.timeOrigin + performance.now()
    const [path, body] = CHANGES[change]
    const changed = owner.post(`/api/account/agents/${did}/${path}`, body)
    const [at] = (await arrived) as [number]
    const { status, text } = await changed
    if (status !== 200) throw new Error(`the ${change} failed: ${text}`)
    times.push(at - from)
  }
  child.send('stop')
  await once(child, 'exit')
  return times
}

async function newAgent(
  service: TestService,
  { ownerId }: SignedInOwner,
  delegationDepth: number,
): Promise<Revocable> {
  const registry = new Registry(service.url)
  const agent = new Agent({ registry, signer: await newKey() })
  const { did } = await agent.claim(await service.operator.issueToken(ownerId))
  if (delegationDepth > 0) await allowDelegation(service, ownerId, did, delegationDepth)
  const payload = (await registry.certificate(did)).split('.')[1] ?? ''
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const { uri, idx } = claims.status.status_list
  return { did, list: Number(uri.split('/').at(-1)), idx }
}

async function certifiedAgent(service: TestService) {
  const registry = new Registry(service.url)
  const signer = await newKey()
  const certified = new Agent({ registry, signer, audiences: [SHOP], certificates: true })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await certified.claim(await service.operator.issueToken(owner))
  await allowDelegation(service, owner, did, 3)
  await certified.sign(SHOP)
  const trust = { issuer: service.url, didPrefix: 'svc:agent:', jwks: null, idHeader: 'ServiceID' }
  const trusted = new TrustedIssuer(trust, {
    maxStaleSeconds: 86_400,
    timeoutMs: 30_000,
    elapsed,
    now: Date.now,
    service: { issuer: service.url, base: service.url },
  })
  await trusted.follower.ready
  return { certified: Object.assign(certified, { signer }), trusted }
}

const elapsed = () => performance.now()

/** @returns microseconds for each */
async function measureDecisions(
  agent: Agent & { readonly signer: Signer },
  trusted: TrustedIssuer,
  count: number,
): Promise<Omit<OfflineDecisions, 'arrivals' | 'ends'>> {
  const did = agent.did ?? ''
  const { headers } = await agent.sign(SHOP)
  const certificate = headers.get('serviceid-certificate') ?? ''
  const staple = headers.get('serviceid-status')
  const keyid = /keyid="([^"]+)"/.exec(headers.get('signature-input') ?? '')?.[1] ?? ''
  const naming = namingFor()
  const policy = readPolicy({ requireProof: true }, naming)
  const caller = { kind: 'named', did, proof: 'signature' } as const
  const decideOnce = async () => {
    const verified = await trusted.certificate(certificate, did, keyid)
    if (typeof verified === 'string') throw new Error(verified)
    const evidence = await trusted.evidence(verified, staple, null)
    if (typeof evidence === 'string') throw new Error(evidence)
    const verdict = decide(policy, naming.idHeader, caller, evidence.lookup)
    return outcomeOf({ naming, policy }, caller, verdict, evidence.basis)
  }
  await repeat(decideOnce, count / 10)
  const decision = await repeat(decideOnce, count)

  const protect = gateway({
    service: trusted.issuer,
    audiences: [SHOP],
    nonces: { record: () => 'fresh' },
    policy: {
      requireProof: true,
      trust: [{ issuer: trusted.issuer, didPrefix: 'svc:agent:' }],
      offline: { maxStaleSeconds: 86_400 },
      delegation: { maxDepth: 3 },
    },
    now: elapsed,
  })
  const handler = protect(() => new Response(null, { status: 204 }))
  const delegation = { did, certificate, staple, signer: agent.signer, issuer: trusted.issuer }
  const worker = await newWorker(delegation, 1)
  const sent: Request[] = []
  // Each request is handled once, as those of clients are: its copies leave listeners on its signal. A signature is valid for a minute.
  const copiesOf = (make: () => Promise<Request>) => async (runs: number) => {
    const { url, headers } = await make()
    for (let i = 0; i < runs; i += 1) sent.push(new Request(url, { headers }))
  }
  const newChains = (hops: number) => async (runs: number) => {
    for (let i = 0; i < runs; i += 1) sent.push(await (await newWorker(delegation, hops))())
  }
  const answer = async () => {
    const { status } = await handler(sent.pop() as Request)
    if (status !== 204) throw new Error(`the gateway answered ${status}`)
  }
  // As long as the signature base, which has both tokens.
  const message = crypto.getRandomValues(
    new Uint8Array(certificate.length + (staple?.length ?? 0) + 500),
  )
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signature = sign(null, message, privateKey)
  const together = true
  const { verification, request, known, one, two, three } = await inTurns(
    {
      verification: { run: () => verifySignature(null, message, publicKey, signature) },
      request: { prepare: copiesOf(() => agent.sign(`${SHOP}/orders`)), run: answer, together },
      known: { prepare: copiesOf(worker), run: answer, together },
      one: { prepare: newChains(1), run: answer, together },
      two: { prepare: newChains(2), run: answer, together },
      three: { prepare: newChains(3), run: answer, together },
    },
    count / 40,
  )
  await protect.close()
  const chains = { known, unknown: [one, two, three] as const }
  return { decision, verification, request, chains }
}

/** @returns microseconds for each */
async function repeat(work: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < times; i += 1) await work()
  return ((performance.now() - start) * 1000) / times
}

try {
  const result = await main(JSON.parse(process.argv[2] ?? ''))
  console.log(`RESULT ${JSON.stringify(result)}`)
} finally {
  for (const end of ends.reverse()) await end()
}
