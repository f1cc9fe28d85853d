import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { appendHop, type DelegationLimits, namingFor } from '@countersign/protocol'
import { agentSignIn, type Signer } from '@countersign/sdk'
import { allowDelegation } from '../../../../test/support/allow-delegation.ts'
import type { TestService } from '../../../../test/support/service.ts'
import { type ForeignSigner, foreignSigner, SHOP, signingAgent } from './signing.ts'

/** An agent whose owner allows it to delegate, and its certificate. */
export type Delegator = Awaited<ReturnType<typeof delegator>>

/** @param maxDepth how many hops its owner allows */
export async function delegator(service: TestService, maxDepth = 3) {
  const signing = await signingAgent(service)
  await allowDelegation(service, signing.owner, signing.did, maxDepth)
  return { ...signing, certificate: await signing.registry.certificate(signing.did), service }
}

/** A key pair, with the key as bytes. */
export interface WorkerKey {
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }
  readonly publicKey: Uint8Array
  sign(message: Uint8Array): Promise<Uint8Array>
}

export function workerKey(): WorkerKey {
  const keys = generateKeyPairSync('ed25519')
  const { x = '' } = keys.publicKey.export({ format: 'jwk' })
  return {
    keys,
    publicKey: new Uint8Array(Buffer.from(x, 'base64url')),
    sign: async (message) => new Uint8Array(sign(null, message, keys.privateKey)),
  }
}

/** What a hop says. Times are in seconds from `now`. */
export interface HopChanges {
  /** Seconds since 1970. No hop may end after the one before it, so all hops of a chain count from the same second. */
  readonly now?: number
  readonly issuedIn?: number
  readonly expiresIn?: number
  readonly maxDepth?: number
  readonly limits?: Partial<DelegationLimits>
  /** The number of characters. */
  readonly nonceLength?: number
}

/** Appends a hop to a certificate or a chain, whatever it says. */
export function addHop(
  before: string,
  by: Pick<Signer, 'sign'>,
  to: Pick<WorkerKey, 'publicKey'>,
  { now = thisSecond(), issuedIn = 0, expiresIn = 600, ...rest }: HopChanges = {},
): Promise<string> {
  const { maxDepth = 0, limits = {}, nonceLength = 24 } = rest
  const hop = {
    publicKey: to.publicKey,
    issuedAt: now + issuedIn,
    expiresAt: now + expiresIn,
    nonce: randomBytes(96).toString('base64url').slice(0, nonceLength),
    maxDepth,
    limits: { origins: [SHOP], methods: null, paths: null, mcp: null, ...limits },
  }
  return appendHop(before, hop, (message) => by.sign(message))
}

function thisSecond(): number {
  return Math.floor(Date.now() / 1000)
}

/** A chain of three hops with exactly so many characters, and the key of its holder. */
export async function chainOfLength(
  length: number,
  agent: Pick<Delegator, 'certificate' | 'key'>,
  origins: readonly string[],
) {
  const keys = [workerKey(), workerKey(), workerKey()] as const
  const [first, second, key] = keys
  const now = thisSecond()
  const write = async (fillerLength: number, nonces: readonly [number, number]) => {
    const fillers = Array.from({ length: 6 }, (_, n) => `/orders/${String(n).repeat(fillerLength)}`)
    const limits = { origins, paths: ['/orders', '/orders/*', ...fillers] }
    const one = await addHop(agent.certificate, agent.key, first, { now, maxDepth: 2, limits })
    const two = { now, maxDepth: 1, limits, nonceLength: nonces[0] }
    return addHop(await addHop(one, first, second, two), second, key, {
      now,
      limits,
      nonceLength: nonces[1],
    })
  }
  let fillerLength = 120
  while ((await write(fillerLength, [24, 24])).length > length) fillerLength--
  for (let nonceLength = 24; nonceLength <= 27; nonceLength++) {
    for (let last = 22; last <= 128; last++) {
      const chain = await write(fillerLength, [nonceLength, last])
      if (chain.length === length) return { chain, key }
    }
  }
  throw new Error('no such length')
}

/** A worker of an agent, which signs whatever it is told to. */
export interface Worker {
  readonly key: WorkerKey
  readonly chain: string
  readonly signer: ForeignSigner
  request(url?: string, init?: RequestInit): Promise<Request>
}

/** A worker with a chain of so many hops, or with the chain that is given. */
export async function workerOf(
  agent: Pick<Delegator, 'certificate' | 'did' | 'key' | 'service'>,
  hops: readonly HopChanges[] = [{}],
): Promise<Worker> {
  const now = thisSecond()
  let chain = agent.certificate
  let by: Pick<Signer, 'sign'> = agent.key
  let key = workerKey()
  for (const [at, hop] of hops.entries()) {
    key = workerKey()
    chain = await addHop(chain, by, key, { now, maxDepth: hops.length - 1 - at, ...hop })
    by = key
  }
  return holderOf(agent, key, chain)
}

/** A client that signs with a key and sends a chain. */
export function holderOf(
  { did, service }: Pick<Delegator, 'did' | 'service'>,
  key: WorkerKey,
  chain: string,
): Worker {
  const url = `${service.url}/agent/${did.slice(-24)}/jwks.json`
  const signer = foreignSigner({ dialect: 'ietf', url }, key.keys)
  return {
    key,
    chain,
    signer,
    request: (address = `${SHOP}/orders`, init = {}) => {
      const headers = new Headers(init.headers)
      if (!headers.has('serviceid')) headers.set('ServiceID', did)
      headers.set('ServiceID-Certificate', chain)
      return signer.sign(address, { ...init, headers }, namingFor())
    },
  }
}

/** Sessions of the shop, and one of an agent. */
export async function sessionOf({ agent, registry }: Pick<Delegator, 'agent' | 'registry'>) {
  const sessions = agentSignIn({ registry, audience: SHOP, secret: 's'.repeat(32) })
  const answer = await agent.answer(await sessions.begin(), { audience: SHOP })
  return { sessions, token: (await sessions.complete(answer)).token }
}
