import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { mintBatch } from '../../packages/server/src/agents/claims/mint.ts'
import { hashToken } from '../../packages/server/src/base/hash-token.ts'
import { newKey } from './key.ts'
import { type ClaimBody, claimBody, type Operator, type TestService } from './service.ts'

/**
 * Prepares signed claims, each with a token of a different owner, because an owner has one live token at a time.
 * @param name makes the owners' names unique to this call
 */
export async function prepareClaims(
  operator: Operator,
  count: number,
  name = 'many',
): Promise<ClaimBody[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const owner = await operator.addVerifiedOwner(`holder-${i}-of-${name}`)
      return claimBody(await operator.issueToken(owner), newKey())
    }),
  )
}

/** Creates agents without HTTP, so that no limit of a busy machine refuses one. Nobody has their keys. */
export async function mintAgents(
  { operator: { db, addVerifiedOwner, issueToken }, settings: { naming } }: TestService,
  count: number,
): Promise<void> {
  const deps = { naming, keyReuse: 'owner', log: null, now: Date.now, randomBytes } as const
  let left = count
  const worker = async () => {
    const owner = await addVerifiedOwner(`holder-${randomBytes(6).toString('hex')}`)
    while (left-- > 0) {
      const tokenHash = hashToken(await issueToken(owner))
      const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
      await db.writeBatched(mintBatch, { deps, claim: { tokenHash, ...made } })
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, 16) }, worker))
}

export interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** Sends claims with a limited number in flight. Calls `onAnswer` for each response; resolves when all have ended. */
export async function sendClaims(
  url: string,
  claims: readonly ClaimBody[],
  inFlight: number,
  onAnswer: (claim: ClaimBody, answer: Answer) => void,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  const queue = [...claims]
  const worker = async () => {
    for (let claim = queue.shift(); claim !== undefined; claim = queue.shift()) {
      const answer = await postClaim(`${url}/api/v1/claim`, claim, agent)
      if (answer !== null) onAnswer(claim, answer)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  agent.destroy()
}

/** @returns null if the connection ended without a response */
export function postClaim(url: string, claim: ClaimBody, agent: Agent): Promise<Answer | null> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' }
    const outgoing = request(url, { method: 'POST', headers, agent }, (incoming) => {
      let text = ''
      incoming.on('data', (chunk) => (text += chunk))
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, body: JSON.parse(text) }),
      )
      incoming.on('error', () => resolve(null))
    })
    outgoing.on('error', () => resolve(null))
    outgoing.end(JSON.stringify(claim))
  })
}
