import type { RegistryClient } from '@countersign/gateway/internal'
import { agentKeySetUrl, type ChainRoot, CodedError, readRoot } from '@countersign/protocol'
import { agentObjectOf } from '../../agents/agent-object.ts'
import type { AgentView } from '../../agents/agent-record.ts'
import { withCurrentChannels } from '../../agents/current-channels.ts'
import { findAgent, type PageReadDeps } from '../../agents/find-agent.ts'
import { gradeAnswerOf } from '../../agents/grade.ts'
import { lookupOf } from '../../agents/lookup.ts'
import type { StatementVerifiers } from '../../agents/verification/verify-signed-request.ts'
import type { SimulatedSigner } from './simulated-signer.ts'

/** The service as a gateway sees it, without HTTP between them. */
export interface ReadModelRegistry extends RegistryClient {
  /** Simulates that the service does not answer. */
  isAway: boolean
  /** What kept this service itself from answering, which a gateway would take for an unreachable service. */
  readonly failures: readonly unknown[]
}

/** What the console reads. */
export interface ConsoleReadDeps extends PageReadDeps, StatementVerifiers {}

/** What of a simulated request the answers of the service depend on. */
export interface RegistrySimulation {
  /** An agent that does not exist, by its DID; undefined: there is no such sample. */
  readonly sampleOf: (did: string) => AgentView | undefined
  /** Shown as the key of every agent; null: the agents' own. */
  readonly signer: SimulatedSigner | null
  /** Counts as one of this service; null: only its own certificates do. */
  readonly certificate: string | null
}

export function readModelRegistry(
  read: ConsoleReadDeps,
  { sampleOf, signer, certificate: simulated }: RegistrySimulation,
): ReadModelRegistry {
  const { site } = read
  const failures: unknown[] = []
  const answer = async <T>(make: () => Promise<T>): Promise<T> => {
    if (registry.isAway) throw new Error('simulated: the service is unreachable')
    try {
      return await make()
    } catch (error) {
      if (!isAnswer(error)) failures.push(error)
      throw error
    }
  }
  const find = async (did: string): Promise<AgentView> => sampleOf(did) ?? findAgent(read, did)
  const registry: ReadModelRegistry = {
    isAway: false,
    failures,
    service: site.baseUrl,
    naming: site.naming,
    lookup: (did) => answer(async () => lookupOf(site, await find(did), read.now())),
    grade: (did) =>
      answer(async () => {
        const view =
          sampleOf(did) ?? (await withCurrentChannels(read.db, await findAgent(read, did)))
        return { ...gradeAnswerOf(site, view, read.now()), did }
      }),
    // The simulation requires no log, since a temporary key is in none.
    logProof: async () => {
      throw new Error('the console reads no log')
    },
    verifyCertificate: (token) =>
      answer(async () => {
        const root = readRoot(token)
        if (root === null) throw new TokenRefusal('INVALID_TOKEN')
        if (token !== simulated) await assertCurrent(read, token, root)
        return root
      }),
    verifyApproval: (token) =>
      answer(async () => {
        const claims = await read.verifyApproval(token)
        if (typeof claims === 'string') throw new TokenRefusal('INVALID_TOKEN')
        return claims
      }),
    agent: (did) =>
      answer(async () => ({
        did,
        ...agentObjectOf(site, await find(did), read.now()),
        ...(signer && { publicKey: signer.publicKey, keyThumbprint: signer.thumbprint }),
      })),
  }
  return registry
}

/** Errors of the service that gateways expect. */
function isAnswer(error: unknown): boolean {
  if (error instanceof CodedError) return error.code === 'NOT_FOUND'
  return error instanceof TokenRefusal
}

/** As a Registry refuses certificates and approvals. */
class TokenRefusal extends Error {
  readonly code: 'INVALID_TOKEN' | 'CERTIFICATE_REVOKED'

  constructor(code: TokenRefusal['code']) {
    super('simulated: the token does not count')
    this.code = code
  }
}

/** @throws TokenRefusal; StorageFailure, CodedError UNAVAILABLE */
async function assertCurrent(
  { site, findRoot }: ConsoleReadDeps,
  certificate: string,
  { did, keyid }: Pick<ChainRoot, 'did' | 'keyid'>,
): Promise<void> {
  const url = agentKeySetUrl(site.baseUrl, did.slice(-24))
  const found = await findRoot({
    signatureAgent: { dialect: 'ietf', url },
    certificate,
    did,
    keyid,
  })
  if (found === 'delegation-ended') throw new TokenRefusal('CERTIFICATE_REVOKED')
  if (typeof found === 'string') throw new TokenRefusal('INVALID_TOKEN')
}
