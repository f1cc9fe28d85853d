import { hashSignal } from '@worldcoin/idkit-core/hashing'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { ProviderRefusal } from './provider.ts'

/** World's registry calls the credential of an Orb, the proof of being human, 1. */
const PROOF_OF_HUMAN = 1
/** Between the proof in World App and its arrival here. */
const GRACE_SECONDS = 60

/** The order of the field in which the proof is made (BN254): past it, the same human would have further numbers. */
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

/** A number in hexadecimal, which has many spellings: compare numbers. */
export const hexNumber = () => Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })

/** What of IDKit's result matters here, for one credential and one action (IDKitResultV4 of @worldcoin/idkit-core). */
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

/** The human, for one relying party and one action. */
export const nullifierOf = ({ responses: [response] }: Proof) => BigInt(response.nullifier)

/** @throws ProviderRefusal where it is no proof of World ID 4, or one of several credentials */
export function readProof(body: unknown): Proof {
  if (Value.Check(proofSchema, body) && nullifierOf(body) < FIELD_ORDER) return body
  if (Value.Check(Type.Object({ protocol_version: Type.Literal('3.0') }), body))
    throw new ProviderRefusal('That is a proof of World ID 3. Update World App, then begin again.')
  throw new ProviderRefusal('That is not a proof of World ID 4. Begin again.')
}

/** What was asked for; times are in Unix seconds. */
export interface ProofRequest {
  readonly nonce: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly action: string
  readonly environment: string
  readonly signal: string
}

/**
 * Holds each public input of the proof against what was asked for. That it was proven is another question.
 * @param now Unix seconds
 * @throws ProviderRefusal
 */
export function assertMatchesRequest(proof: Proof, asked: ProofRequest, now: number): void {
  const [{ issuer_schema_id, signal_hash, expires_at_min }] = proof.responses
  const rules: readonly (readonly [boolean, string])[] = [
    [
      proof.nonce === asked.nonce,
      'That proof answers another request than the one that was begun here. Begin again.',
    ],
    [
      now <= asked.expiresAt + GRACE_SECONDS,
      'That took too long: a request to World App is good for five minutes. Begin again.',
    ],
    [proof.action === asked.action, 'That proof is for something else than this service.'],
    [
      proof.environment === asked.environment,
      'That proof is not from the environment of World that counts here.',
    ],
    [
      issuer_schema_id === PROOF_OF_HUMAN,
      'That proof rests on another credential. What counts here is a World ID verified at an Orb.',
    ],
    [
      BigInt(signal_hash) === BigInt(hashSignal(asked.signal)),
      'That proof was made for another account. Begin again.',
    ],
    [
      expires_at_min >= asked.createdAt,
      'That proof rests on a credential that may have expired. Renew it in World App.',
    ],
  ]
  const broken = rules.find(([holds]) => !holds)
  if (broken !== undefined) throw new ProviderRefusal(broken[1])
}
