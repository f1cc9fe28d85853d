import { hashSignal } from '@worldcoin/idkit-core/hashing'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { ProviderRefusal } from './provider.ts'

/** The issuer schema id of the Orb's credential in World's registry. */
const PROOF_OF_HUMAN = 1
/** Allowed between the proof in World App and its arrival here. */
const GRACE_SECONDS = 60

/** The order of the proof's field (BN254). Larger nullifiers would be further spellings of the same one. */
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

/** A hexadecimal number. It has several spellings, so compare as BigInt. */
export const hexNumber = () => Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })

/** The checked members of IDKit's result for one credential and one action (IDKitResultV4 of @worldcoin/idkit-core). */
const proofSchema = Type.Object({
  protocol_version: Type.Literal('4.0'),
  nonce: Type.String(),
  action: Type.String(),
  environment: Type.String(),
  session_id: Type.Optional(Type.Never()),
  responses: Type.Tuple([
    Type.Object({
      issuer_schema_id: Type.Integer(),
      signal_hash: hexNumber(),
      nullifier: hexNumber(),
      expires_at_min: Type.Integer({ minimum: 0 }),
    }),
  ]),
})

export type Proof = Static<typeof proofSchema>

/** Identifies the person for one relying party and one action. */
export const nullifierOf = ({ responses: [response] }: Proof) => BigInt(response.nullifier)

/** @throws ProviderRefusal if it is not a World ID 4 proof of exactly one credential */
export function readProof(body: unknown): Proof {
  if (Value.Check(proofSchema, body) && nullifierOf(body) < FIELD_ORDER) return body
  if (Value.Check(Type.Object({ protocol_version: Type.Literal('3.0') }), body))
    throw new ProviderRefusal('That is a proof of World ID 3. Update World App, then begin again.')
  throw new ProviderRefusal('That is not a proof of World ID 4. Begin again.')
}

/** The request that the proof must answer. Times are in Unix seconds. */
export interface ProofRequest {
  readonly nonce: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly action: string
  readonly environment: string
  readonly signal: string
}

/**
 * Checks each public input of the proof against the request. Does not verify the proof itself.
 * @param now Unix seconds
 * @throws ProviderRefusal
 */
export function assertMatchesRequest(proof: Proof, request: ProofRequest, now: number): void {
  const [{ issuer_schema_id, signal_hash, expires_at_min }] = proof.responses
  const rules: readonly (readonly [boolean, string])[] = [
    [
      proof.nonce === request.nonce,
      'That proof answers another request than the one that was begun here. Begin again.',
    ],
    [
      now <= request.expiresAt + GRACE_SECONDS,
      'The request to World App has expired after five minutes. Start again.',
    ],
    [proof.action === request.action, 'That proof is for something else than this service.'],
    [
      proof.environment === request.environment,
      'That proof is not from the environment of World that counts here.',
    ],
    [
      issuer_schema_id === PROOF_OF_HUMAN,
      'That proof rests on another credential. What counts here is a World ID verified at an Orb.',
    ],
    [
      BigInt(signal_hash) === BigInt(hashSignal(request.signal)),
      'That proof was made for another account. Begin again.',
    ],
    [
      expires_at_min >= request.createdAt,
      'That proof rests on a credential that may have expired. Renew it in World App.',
    ],
  ]
  const failed = rules.find(([passed]) => !passed)
  if (failed !== undefined) throw new ProviderRefusal(failed[1])
}
