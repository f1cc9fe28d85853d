import type { Assurance, CallbackFailure, ProviderKind } from '@countersign/protocol'
import type { OwnerRow } from '../../database/database.ts'
import type { PagePolicy } from '../../http/page-headers.ts'

/** The result of a verification. Of the subject, only a hash is stored. */
export interface VerificationResult {
  /** The provider's stable identifier of the person. */
  readonly subject: string
  /** Subjects are unique within an issuer. */
  readonly issuer: string
  readonly assurance: Assurance
  readonly verifiedAt: Date
  readonly expiresAt?: Date
  /** ISO 3166-1 alpha-2, if the provider reports it. */
  readonly country?: string
  /** The verified name, only if the context asked for it. Stored only because the owner chose to publish it. */
  readonly name?: string
}

export interface BeginResult {
  /** Where to send the browser. */
  readonly redirect?: string
  /** Input for the provider's script in the browser. */
  readonly client?: Record<string, unknown>
  /** The provider's name for this verification in webhooks. */
  readonly reference?: string
  /** JSON, stored on the server until the flow is completed. */
  readonly state: object
}

export interface BeginContext {
  /** A stable pseudonym of the owner, different for each provider. */
  readonly ownerId: string
  /** The redirect URI. */
  readonly callbackUrl: string
  /** Whether to ask the provider for the name, which the owner wants to publish. */
  readonly withName?: boolean
}

export interface CompletionInput {
  /** The callback URL with its query. */
  readonly url?: URL
  /** The result of the provider's script in the browser. */
  readonly body?: unknown
}

/** Whom a provider verifies. A person's verification never counts for an organisation, nor the reverse. */
type VerifiesFor = 'person' | 'organisation' | 'anyone'

/**
 * An identity provider. Callers call `begin`, then `complete` with the state that `begin` returned, each state once and
 * for the same owner. Each implementation is a file in this folder.
 */
export interface IdentityProvider {
  readonly id: string
  readonly label: string
  readonly kind: ProviderKind
  readonly for: VerifiesFor
  /** The assurance of its verifications; null if it varies. */
  readonly assurance: Assurance | null
  /** Whether each person has one stable subject. */
  readonly unique: boolean
  /** Whether it verifies the person's name and can report it. Names that people choose there do not count. */
  readonly verifiesName: boolean
  /** What it proves, as a sentence to show. */
  readonly proves: string
  /** How long a verification counts, in milliseconds, unless the provider says; null: until it is removed. */
  readonly validForMs: number | null
  /** Whether owners may sign in with it. */
  readonly signIn: boolean
  /** False if only the operator can verify with it, by countersignd. */
  readonly selfService: boolean
  /** Sources that its script needs in the Content-Security-Policy of the dashboard. */
  readonly pagePolicy?: PagePolicy
  /** @throws ProviderFailure */
  begin(context: BeginContext): Promise<BeginResult>
  /** @throws ProviderRefusal if the person is not verified, ProviderFailure if the provider fails */
  complete(
    context: BeginContext,
    input: CompletionInput,
    state: object,
  ): Promise<VerificationResult>
  /**
   * Verifies the signature of a webhook and reads its reference. The result is then fetched by `complete`.
   * @param raw the body's bytes
   * @returns null if the event is not relevant
   * @throws ProviderRefusal if the signature is wrong
   */
  webhook?(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    raw: Uint8Array,
  ): Promise<{ readonly reference: string } | null>
  /** Contacts the provider and reports what works, for `countersignd provider check`. */
  check(): Promise<readonly ProviderCheck[]>
}

/** Whether a provider verifies owners of a kind. Accounts of members, which own nothing, count as persons. */
export function verifiesKind(
  { for: verified }: Pick<IdentityProvider, 'for'>,
  kind: OwnerRow['kind'] | undefined,
): boolean {
  return verified === 'anyone' || (verified === 'organisation') === (kind === 'organisation')
}

export interface ProviderCheck {
  readonly name: string
  readonly ok: boolean
  /** The finding, or how to fix it. Contains no secret. */
  readonly detail: string
}

/** The person was not verified: they declined, or the result is not valid. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal'
  /** The code that the dashboard shows a text for, after a redirect. */
  readonly reason: CallbackFailure

  /** @param message for the responses of the owners' API */
  constructor(message: string, options: ErrorOptions & { readonly reason?: CallbackFailure } = {}) {
    super(message, options)
    this.reason = options.reason ?? 'not-verified'
  }
}

/** The provider does not respond, or not as documented. The message is for the log. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
}
