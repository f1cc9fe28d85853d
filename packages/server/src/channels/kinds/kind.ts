import {
  CodedError,
  type Did,
  type Naming,
  type ProofMethodInWords,
  type Tier,
} from '@countersign/protocol'
import type { Perspective } from '../../http/outbound/perspective.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'

/** What is placed somewhere to prove who holds it. */
export interface PlacedProof {
  readonly naming: Naming
  /** The handle or domain as returned by `parse`. */
  readonly handle: string
  /** Random, for one place and one holder: 22 base58 characters, more than 128 bits. */
  readonly token: string
  /** When the token can no longer prove the place for the first time. Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The contents of a proof of a channel, and the agent that it names. */
export interface Proof extends PlacedProof {
  readonly did: Did
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** The origin of this service, without a trailing slash. */
  readonly baseUrl: string
}

/** The proof that a check looks for. */
export interface ProofQuery<P = Proof> {
  readonly proof: P
  /**
   * The id of the method by which this token has proven the channel: the check uses only this method and ignores the token's
   * expiry. Null if the token has proven nothing yet: the check tries every method.
   */
  readonly provenBy: string | null
  /** The time of the check in milliseconds since 1970. */
  readonly now: number
}

/** A proof that was found. */
export interface FoundProof {
  /** The id of the method, one of `ChannelKind.methods`. */
  readonly method: string
  /** What was found, as a sentence for the owner. */
  readonly detail: string
}

/**
 * A kind of channel, such as a domain or an account on a platform. Forms, checks, pages and documentation are generated from
 * it. Each kind is a file in this folder and an entry in `kinds.ts`.
 */
export interface ChannelKind {
  readonly id: string
  readonly label: string
  readonly tier: Tier
  /** Whether people can chat with the agent there; the compact card then shows the handle. */
  readonly chat: boolean
  /** What a verified channel proves, as a sentence for people. */
  readonly proves: string
  readonly field: {
    readonly label: string
    readonly placeholder: string
    readonly hint: string
  }
  /** How long a proof is valid. */
  readonly freshForMs: number
  /**
   * Normalizes a handle to the form in which it is stored and compared.
   * @throws InvalidHandleError
   */
  parse(text: string): string
  /** The page of a handle for people, or null if there is none. */
  link(handle: string): string | null
  /** The ways to prove a handle: what to place, and where. */
  methods(proof: Proof): readonly ProofMethodInWords[]
  /** How this service checks the proof; null if the agent itself proves the channel. */
  readonly check: ProofCheck | null
}

/** @typeParam P the proof that it looks for */
export interface ProofCheck<P = Proof> {
  /** `most`: more than half of the perspectives must find the proof. `first`: the first that can be reached decides. */
  readonly agreement: 'most' | 'first'
  /**
   * Looks for a proof from one perspective.
   * @throws ProofAbsent if the place answers without the proof, Unreachable if it gives no usable answer
   */
  observe(from: Perspective, query: ProofQuery<P>): Promise<FoundProof>
}

/** An input is not a handle of a kind of channel. The message is for people. */
export class InvalidHandleError extends Error {
  override readonly name = 'InvalidHandleError'
}

/** Whether this service checks channels of a kind; false if the agent itself proves them by answering a challenge. */
export function isCheckedByService(kind: ChannelKind): boolean {
  return kind.check !== null
}

/** What the rules on channels depend on. */
export interface ChannelDeps extends Pick<CoreDeps, 'db' | 'site' | 'now' | 'randomBytes'> {
  readonly channelSources: ChannelSources
}

/** The kinds of channel that can be proven, and the network perspectives from which they are checked. */
export interface ChannelSources {
  readonly kinds: readonly ChannelKind[]
  readonly perspectives: readonly Perspective[]
}

/** @throws CodedError VALIDATION_ERROR if there is no such kind */
export function getKind({ kinds }: ChannelSources, id: string): ChannelKind {
  const kind = kinds.find((each) => each.id === id)
  if (kind !== undefined) return kind
  throw new CodedError(
    'VALIDATION_ERROR',
    `kind is one of: ${kinds.map((each) => each.id).join(', ')}.`,
  )
}
