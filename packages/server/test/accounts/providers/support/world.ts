import { createHash } from 'node:crypto'
import { hashSignal } from '@worldcoin/idkit-core/hashing'
import {
  type Answer,
  type Received,
  startLoopbackServer,
} from '../../../http/outbound/support/loopback-server.ts'

export const RP_ID = 'rp_3f0c9a1d52be7788'

/** The `client` of `begin`, for IDKit. */
export interface Client {
  readonly app_id: string
  readonly action: string
  readonly rp_context: {
    readonly rp_id: string
    readonly nonce: string
    readonly created_at: number
    readonly expires_at: number
    readonly signature: string
  }
  readonly environment: string
  readonly signal: string
}

interface Response extends Omit<Inputs, 'nonce' | 'action'> {
  readonly identifier: string
  readonly proof: readonly string[]
}

/** IDKitResultV4 of @worldcoin/idkit-core 4.3. */
interface Result {
  readonly protocol_version: string
  readonly nonce: string
  readonly action: string
  readonly environment: string
  readonly responses: readonly Response[]
  readonly [further: string]: unknown
}

/** The public inputs of a proof (WorldIDVerifier.sol). */
interface Inputs {
  readonly nonce: string
  /** Hashed to a field element. */
  readonly action: string
  readonly issuer_schema_id: number
  readonly signal_hash: string
  readonly nullifier: string
  readonly expires_at_min: number
}

/**
 * A hash that stands in for the proof: like a SNARK, it lets the portal below detect altered inputs.
 */
export function proofOf(inputs: Inputs): bigint[] {
  const { nonce, action, issuer_schema_id, signal_hash, nullifier, expires_at_min } = inputs
  const proven = [nonce, action, issuer_schema_id, signal_hash, nullifier, expires_at_min]
  return [0, 1, 2, 3, 4].map((part) => numberOf(`${part}|${proven.map(BigInt).join('|')}`))
}

/** The nullifier of a person for one relying party and one action. */
export function nullifierFor(human: string, rpId: string, action: string): string {
  return `0x${numberOf(`${human}|${rpId}|${action}`).toString(16).padStart(64, '0')}`
}

/** Hashes to a number below the order of the field. */
const numberOf = (text: string) =>
  BigInt(`0x0${createHash('sha256').update(text).digest('hex').slice(1)}`)

/**
 * World App and IDKit: creates a proof for a request.
 * @param changes public inputs that differ from the request, with a valid proof
 */
export function proveHuman(
  client: Client,
  human: string,
  changes: Partial<Omit<Result, 'responses'>> & { response?: Partial<Response> } = {},
): Result {
  const { response: changed, ...others } = changes
  const result = {
    protocol_version: '4.0',
    nonce: client.rp_context.nonce,
    action: client.action,
    environment: client.environment,
    ...others,
  }
  const response = {
    identifier: 'proof_of_human',
    issuer_schema_id: 1,
    signal_hash: hashSignal(client.signal),
    nullifier: nullifierFor(human, client.rp_context.rp_id, hashSignal(client.action)),
    expires_at_min: client.rp_context.created_at,
    ...changed,
  }
  const { nonce, action } = result
  const proof = proofOf({ nonce, action: hashSignal(action), ...response })
  // IDKit uses decimal.
  return { ...result, responses: [{ ...response, proof: proof.map(String) }] }
}

/**
 * World's Developer Portal: `POST /api/v4/verify/{rp_id}` and `GET /api/v4/rp-status/{rp_id}`, with responses
 * and error codes as in worldcoin/developer-portal, web/api/v4. `answers` overrides the response of a path.
 */
export async function startWorldPortal(t: { after(end: () => unknown): void }) {
  const answers = new Map<string, Answer>()
  const used = new Set<string>()
  const server = await startLoopbackServer(t, (request) => {
    const [, , , what, rpId] = request.path.split('/')
    const other = answers.get(what ?? '')
    if (other !== undefined) return other
    const known = rpId === RP_ID
    if (what === 'verify' && request.method === 'POST')
      return known ? verify(request) : refusal(400, 'app_not_migrated')
    if (what === 'rp-status' && request.method === 'GET')
      return known
        ? { status: 200, body: { production_status: 'registered', staging_status: 'pending' } }
        : refusal(404, 'not_found')
    return refusal(405, 'method_not_allowed')
  })

  function verify({ body }: Received): Answer {
    const result: Result = JSON.parse(body)
    if (!result.responses?.every(({ proof }) => proof?.length === 5))
      return refusal(400, 'validation_error')
    const results = result.responses.map((response) => {
      const { identifier, nullifier, proof } = response
      const proven = proofOf({
        ...response,
        nonce: result.nonce,
        action: hashSignal(result.action),
      })
      return proof.map(BigInt).join() === proven.join()
        ? { identifier, success: true, nullifier }
        : { identifier, success: false, code: 'invalid_proof', detail: 'The proof is invalid.' }
    })
    const proven = results.find(({ success }) => success)
    if (proven?.nullifier === undefined)
      return {
        status: 400,
        body: {
          success: false,
          code: 'all_verifications_failed',
          detail: 'All proof verifications failed.',
          results,
        },
      }
    const again = used.has(proven.nullifier)
    used.add(proven.nullifier)
    return {
      status: 200,
      body: {
        success: true,
        action: result.action,
        nullifier: proven.nullifier.toLowerCase(),
        created_at: '2026-01-02T00:00:00.000000+00:00',
        environment: result.environment ?? 'production',
        results,
        message: `Proof verified successfully${again ? ' (nullifier reuse)' : ''}`,
      },
    }
  }

  return { ...server, answers }
}

export const refusal = (status: number, code: string): Answer => ({
  status,
  body: { code, detail: 'Something went wrong', attribute: null },
})
