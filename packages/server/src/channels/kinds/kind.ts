import type { Did, Naming, ProofMethodInWords, Tier } from '@countersign/protocol'
import type { Perspective } from '../../core/network/perspective.ts'

/** What a proof has to say, and about whom. */
export interface Proof {
  readonly naming: Naming
  readonly did: Did
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** In the form that `parse` gave it. */
  readonly handle: string
  /** The origin of this service. */
  readonly baseUrl: string
  /** Random, for this channel of this agent alone: 22 base58 characters, more than 128 bits. */
  readonly token: string
  /** Until when the token can prove anything for the first time. Milliseconds since 1970. */
  readonly expiresAt: number
}

/** What a check looks for. */
export interface Wanted {
  readonly proof: Proof
  /**
   * The method by which this token was proven before, of those that `methods` names: only there is looked, and the end of
   * the token no longer matters. Null while it has proven nothing: everywhere is looked.
   */
  readonly provenBy: string | null
  /** The moment of the check. Milliseconds since 1970. */
  readonly now: number
}

/** A proof that was found. */
export interface Found {
  /** Of those that `methods` names. */
  readonly method: string
  /** What was seen, in a sentence. */
  readonly detail: string
}

/**
 * A kind of place at which an agent can be reached. Each is a file beside this one, in the list of `kinds.ts`: forms,
 * checks, pages and docs are all made of it.
 */
export interface ChannelKind {
  readonly id: string
  readonly label: string
  readonly tier: Tier
  /** Whether one can chat with an agent there, so that the handle stands on the compact card. */
  readonly chat: boolean
  /** What it proves, in a sentence for people. */
  readonly proves: string
  readonly field: {
    readonly label: string
    readonly placeholder: string
    readonly hint: string
  }
  /** How long a proof counts. */
  readonly freshForMs: number
  /**
   * The one form in which a handle is stored and compared.
   * @throws HandleRefusal
   */
  parse(text: string): string
  /** Where people find it, or null where there is no page. */
  link(handle: string): string | null
  /** How it can be proven: what to place, and where. */
  methods(proof: Proof): readonly ProofMethodInWords[]
  /** How it is looked for; null where the agent comes to us. */
  readonly check: ChannelCheck | null
}

interface ChannelCheck {
  /** `most`: more than half of the perspectives must see the proof. `first`: the first that knows decides. */
  readonly agreement: 'most' | 'first'
  /**
   * Looks for a proof.
   * @throws ProofAbsent where the place says that there is none, Unreachable where nobody knows
   */
  look(from: Perspective, wanted: Wanted): Promise<Found>
}

/** What was entered is no handle of this kind. The message is for people. */
export class HandleRefusal extends Error {
  override readonly name = 'HandleRefusal'
}
