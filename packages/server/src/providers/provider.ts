import type { Assurance, ProviderKind } from '@countersign/protocol'
import type { PagePolicy } from '../core/http/page-headers.ts'

/** What a provider has found out about a human. None of it but a hash of the subject is kept, and the dates. */
export interface Verified {
  /** What the provider knows the human by, the same every time. */
  readonly subject: string
  /** Who says so: subjects are unique within an issuer. */
  readonly issuer: string
  readonly assurance: Assurance
  readonly verifiedAt: Date
  readonly expiresAt?: Date
  /** ISO 3166-1 alpha-2, where the provider says so. */
  readonly country?: string
}

export interface Begun {
  /** Where to send the browser. */
  readonly redirect?: string
  /** What the provider's own script needs in the browser. */
  readonly client?: Record<string, unknown>
  /** What a webhook of the provider will call this verification. */
  readonly reference?: string
  /** Kept on our side until it is completed; JSON. */
  readonly state: object
}

export interface BeginContext {
  /** Ours for the owner: a pseudonym, the same every time, that says nothing about them. */
  readonly ownerId: string
  /** Where the browser comes back to. */
  readonly callbackUrl: string
}

export interface CompletionInput {
  /** The address at which the browser came back, with its query. */
  readonly url?: URL
  /** What the provider's script gave the browser. */
  readonly body?: unknown
}

/**
 * A way to find out who an owner is. `begin` and `complete` are called in this order, for one owner, with the state
 * of the one handed to the other; a state is used once. Each implementation is a file beside this one.
 */
export interface IdentityProvider {
  readonly id: string
  readonly label: string
  readonly kind: ProviderKind
  /** What a verification is worth; null where it depends on the case. */
  readonly assurance: Assurance | null
  /** Whether it yields one stable key per human. */
  readonly unique: boolean
  /** What it proves, in a sentence for people. */
  readonly proves: string
  /** How long a verification counts, where the provider does not say itself; null: until it is taken back. */
  readonly validForMs: number | null
  /** Whether owners may sign in with it. */
  readonly signIn: boolean
  /** False: the host does it by countersignd, and nothing can be begun. */
  readonly selfService: boolean
  /** What its script needs in the browser, beyond the policy that pages have (CSP Level 3). */
  readonly pagePolicy?: PagePolicy
  /** @throws ProviderFailure */
  begin(context: BeginContext): Promise<Begun>
  /** @throws ProviderRefusal where the human is not verified, ProviderFailure where the provider is to blame */
  complete(context: BeginContext, input: CompletionInput, state: object): Promise<Verified>
  /**
   * Reads a call of the provider. It is a hint: what counts is fetched again by `complete`.
   * @param raw the body as it came
   * @returns which verification it is about, or null where it says nothing of use
   * @throws ProviderRefusal where the signature is wrong
   */
  webhook?(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    raw: Uint8Array,
  ): Promise<{ readonly reference: string } | null>
  /** Reaches out and reports what works, for `countersignd provider check`. */
  check(): Promise<readonly ProviderCheck[]>
}

export interface ProviderCheck {
  readonly name: string
  readonly ok: boolean
  /** What was found, or what to do about it. No secret is ever in it. */
  readonly detail: string
}

/** The human was not verified: they said no, or what came back is not to be believed. The message is for them. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal'
}

/** The provider does not answer, or not as its documentation says. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
}
