import { randomUUID } from 'node:crypto'
import type Stripe from 'stripe'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Env } from '../../base/config.ts'
import { baseAddress, DEFAULT_RUNTIME, type ProviderRuntime } from './http-json.ts'
import {
  type BeginContext,
  type BeginResult,
  type IdentityProvider,
  type ProviderCheck,
  ProviderFailure,
  ProviderRefusal,
  type VerificationResult,
} from './provider.ts'
import { resolveSecret, SecretError, secretReference } from './secret-reference.ts'
import {
  assertLoopback,
  idField,
  labelField,
  validForDaysField,
  validityMs,
} from './settings-fields.ts'
import { callStripe, connectStripe, refusalFor } from './stripe-client.ts'

/** The maximum age of a webhook, as Stripe recommends. */
const WEBHOOK_TOLERANCE_SECONDS = 300

export const stripeIdentitySettings = () =>
  Type.Object(
    {
      id: idField(),
      type: Type.Literal('stripe-identity'),
      label: Type.Optional(labelField()),
      validForDays: Type.Optional(validForDaysField()),
      secretKey: secretReference(),
      webhookSecret: secretReference(),
      testMode: Type.Optional(
        Type.Boolean({ description: 'true, which is for development on loopback only, or false' }),
      ),
      address: Type.Optional(baseAddress('https://api.stripe.com')),
    },
    { additionalProperties: false },
  )

type StripeIdentitySettings = Static<ReturnType<typeof stripeIdentitySettings>>

interface StripeIdentity {
  readonly stripe: Stripe
  readonly testMode: boolean
  readonly webhookSecret: string
  readonly now: () => number
  /** Completions in progress, by session and owner. */
  readonly inProgress: Map<string, Promise<VerificationResult>>
}

interface State {
  readonly sessionId: string
}

type Session = Stripe.Identity.VerificationSession

/**
 * Stripe Identity: an identity document and a matching selfie, on Stripe's page. Redacts them at Stripe as soon as they
 * are verified. Stripe reports no stable subject of a person, so `unique` is false.
 * @throws SecretError if a secret cannot be read or is of the wrong mode
 */
export async function stripeIdentityProvider(
  settings: StripeIdentitySettings,
  env: Env,
  runtime: ProviderRuntime = DEFAULT_RUNTIME,
): Promise<IdentityProvider> {
  const testMode = settings.testMode ?? false
  const identity: StripeIdentity = {
    stripe: await connectStripe(settings.address, readSecretKey(settings, env, testMode), runtime),
    testMode,
    webhookSecret: readWebhookSecret(settings, env),
    now: runtime.now,
    inProgress: new Map(),
  }
  return {
    id: settings.id,
    label: settings.label ?? 'Stripe Identity',
    kind: 'kyc',
    for: 'person',
    assurance: 'substantial',
    unique: false,
    verifiesName: false,
    proves: 'That you hold an identity document of a state, and that it is you on its picture.',
    validForMs: validityMs(settings.validForDays),
    signIn: false,
    selfService: true,
    begin: (context) => begin(identity, context),
    complete: (context, _input, state) => completeOnce(identity, context, state as State),
    webhook: async (headers, raw) => readWebhook(identity, headers['stripe-signature'], raw),
    check: async () => [await checkAccess(identity)],
  }
}

function readSecretKey(settings: StripeIdentitySettings, env: Env, testMode: boolean): string {
  const key = resolveSecret(settings.secretKey, env)
  const mode = /^[sr]k_(live|test)_/.exec(key)?.[1]
  if (mode === (testMode ? 'test' : 'live')) return key
  throw new SecretError(
    mode === undefined
      ? 'the secret key of Stripe must begin with sk_live_, rk_live_, sk_test_ or rk_test_'
      : `the secret key of Stripe is of ${mode} mode, and testMode is ${testMode}`,
  )
}

function readWebhookSecret({ webhookSecret }: StripeIdentitySettings, env: Env): string {
  const secret = resolveSecret(webhookSecret, env)
  if (secret.startsWith('whsec_')) return secret
  throw new SecretError('the webhook secret of Stripe must begin with whsec_')
}

const SESSION_ID = '^vs_[A-Za-z0-9_]{1,250}$'
const begunSession = Type.Object({
  id: Type.String({ pattern: SESSION_ID }),
  url: Type.String({ pattern: '^https://' }),
})

async function begin(identity: StripeIdentity, context: BeginContext): Promise<BeginResult> {
  const { ownerId, callbackUrl } = context
  if (identity.testMode) assertLoopback(callbackUrl, 'The test mode of Stripe')
  const session = await callStripe(() =>
    identity.stripe.identity.verificationSessions.create(
      {
        type: 'document',
        options: { document: { require_matching_selfie: true } },
        client_reference_id: ownerId,
        metadata: { owner: ownerId },
        return_url: callbackUrl,
      },
      // So that a retry after a lost response does not create a second session.
      { idempotencyKey: randomUUID() },
    ),
  )
  if (!Value.Check(begunSession, session))
    throw new ProviderFailure('Stripe began a verification without saying where to go.')
  const state: State = { sessionId: session.id }
  return { redirect: session.url, reference: session.id, state }
}

/** The callback and the webhook may arrive together. The second would find the session already redacted. */
function completeOnce(identity: StripeIdentity, context: BeginContext, { sessionId }: State) {
  const key = `${sessionId} ${context.ownerId}`
  const inProgress = identity.inProgress.get(key)
  if (inProgress !== undefined) return inProgress
  const completed = complete(identity, { ...context, sessionId })
  identity.inProgress.set(key, completed)
  return completed.finally(() => identity.inProgress.delete(key))
}

async function complete(
  identity: StripeIdentity,
  context: BeginContext & State,
): Promise<VerificationResult> {
  const { sessionId } = context
  const session = await callStripe(() =>
    identity.stripe.identity.verificationSessions.retrieve(sessionId),
  )
  assertVerified(identity, session, context)
  await redact(identity, sessionId)
  return {
    subject: sessionId,
    issuer: 'https://stripe.com',
    assurance: 'substantial',
    verifiedAt: new Date(identity.now()),
  }
}

/** Checks the session as fetched from Stripe. The callback and the webhook are not trusted. */
function assertVerified(
  { testMode }: StripeIdentity,
  session: Session,
  { ownerId, callbackUrl, sessionId }: BeginContext & State,
): void {
  if (testMode) assertLoopback(callbackUrl, 'The test mode of Stripe')
  if (session.id !== sessionId || session.livemode !== !testMode)
    throw new ProviderFailure('Stripe answers for another verification, or of the other mode.')
  // Checked first, because redaction also erases the metadata.
  if (session.redaction)
    throw new ProviderRefusal('That verification was used before. Begin again.', { reason: 'used' })
  if (session.metadata?.owner !== ownerId || session.client_reference_id !== ownerId)
    throw new ProviderRefusal('That verification was begun for another account. Begin again.', {
      reason: 'other-owner',
    })
  if (session.status === 'verified') return
  if (session.status === 'processing')
    throw new ProviderRefusal(
      'Stripe is still checking your document. The verification arrives here by itself.',
      { reason: 'processing' },
    )
  if (session.status === 'requires_input') throw refusalFor(session.last_error?.code)
  if (session.status === 'canceled')
    throw new ProviderRefusal('That verification was cancelled. Begin again.', {
      reason: 'declined',
    })
  throw new ProviderFailure('Stripe is at a point that is not understood.')
}

/** Best effort: the operator can redact remaining sessions in Stripe's dashboard. */
async function redact({ stripe }: StripeIdentity, sessionId: string): Promise<void> {
  await stripe.identity.verificationSessions.redact(sessionId).catch(() => undefined)
}

const verifiedEvent = Type.Object({
  type: Type.Literal('identity.verification_session.verified'),
  livemode: Type.Boolean(),
  data: Type.Object({ object: Type.Object({ id: Type.String({ pattern: SESSION_ID }) }) }),
})

function readWebhook(
  { stripe, testMode, webhookSecret, now }: StripeIdentity,
  signature: string | string[] | undefined,
  raw: Uint8Array,
): { readonly reference: string } | null {
  const header = typeof signature === 'string' ? signature : ''
  let event: unknown
  try {
    event = stripe.webhooks.constructEvent(
      raw,
      header,
      webhookSecret,
      WEBHOOK_TOLERANCE_SECONDS,
      undefined,
      now(),
    )
  } catch {
    throw new ProviderRefusal('The signature of this call is wrong, or older than five minutes.')
  }
  if (!Value.Check(verifiedEvent, event) || event.livemode === testMode) return null
  return { reference: event.data.object.id }
}

async function checkAccess({ stripe, testMode }: StripeIdentity): Promise<ProviderCheck> {
  const name = 'secret key'
  try {
    await callStripe(() => stripe.identity.verificationSessions.list({ limit: 1 }))
    return { name, ok: true, detail: `accepted, ${testMode ? 'test' : 'live'} mode` }
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message }
  }
}
