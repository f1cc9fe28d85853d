import type { CallbackFailure } from '@countersign/protocol'
import type Stripe from 'stripe'
import type { ProviderRuntime } from './http-json.ts'
import { ProviderFailure, ProviderRefusal } from './provider.ts'

/**
 * Creates a Stripe client. Loads the library here, because it takes 36 MB that other services need not spend.
 * @param address the base URL without a trailing slash; by default Stripe's
 */
export async function connectStripe(
  address: string | undefined,
  key: string,
  { timeLimitMs }: ProviderRuntime,
): Promise<Stripe> {
  const { default: Stripe } = await import('stripe')
  const url = new URL(address ?? 'https://api.stripe.com')
  return new Stripe(key, {
    host: url.hostname,
    port: url.port || (url.protocol === 'http:' ? '80' : '443'),
    protocol: url.protocol === 'http:' ? 'http' : 'https',
    timeout: timeLimitMs,
    maxNetworkRetries: 1,
    telemetry: false,
  })
}

/**
 * Calls Stripe. Stripe's errors quote parts of keys and hold the request, so none of them is passed on.
 * @throws ProviderFailure
 */
export async function callStripe<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new ProviderFailure(describeStripeError(error))
  }
}

function describeStripeError(error: unknown): string {
  const { type, statusCode } = error as Partial<Stripe.errors.StripeError>
  if (type === 'StripeAuthenticationError') return 'Stripe does not accept the secret key.'
  if (type === 'StripePermissionError') return 'The secret key may not use Identity at Stripe.'
  if (type === 'StripeConnectionError') return 'Stripe does not answer.'
  if (statusCode !== undefined) return `Stripe answers with an error (status ${statusCode}).`
  return 'Stripe answers in a way that is not understood.'
}

/** Messages and codes for values of `last_error.code` of a verification session that the person can act on. */
const LAST_ERRORS: Readonly<Record<string, readonly [CallbackFailure, string]>> = {
  abandoned: ['abandoned', 'You left before you were done at Stripe.'],
  consent_declined: ['declined', 'You did not agree to be verified at Stripe.'],
  country_not_supported: [
    'country-unsupported',
    'Stripe does not verify documents of your country.',
  ],
  device_not_supported: ['camera-needed', 'Stripe needs a device with a camera.'],
  document_expired: ['document-expired', 'Your document has expired.'],
  document_type_not_supported: [
    'document-unsupported',
    'Stripe does not accept this kind of document.',
  ],
  document_unverified_other: ['document-unverified', 'Stripe could not verify your document.'],
  selfie_document_missing_photo: [
    'document-without-photo',
    'Your document has no picture of your face.',
  ],
  selfie_face_mismatch: [
    'selfie-mismatch',
    'Your selfie does not match the picture on your document.',
  ],
  selfie_manipulated: ['selfie-unverified', 'Stripe holds your selfie for altered.'],
  selfie_unverified_other: ['selfie-unverified', 'Stripe could not verify your selfie.'],
  under_supported_age: ['age-unsupported', 'Stripe does not verify people of your age.'],
}

/** @param code `last_error.code`; null or undefined if nothing was submitted yet */
export function refusalFor(code: string | null | undefined): ProviderRefusal {
  if (!code) {
    const message = 'You are not done at Stripe yet. Begin again.'
    return new ProviderRefusal(message, { reason: 'abandoned' })
  }
  const known = Object.hasOwn(LAST_ERRORS, code) ? LAST_ERRORS[code] : undefined
  const [reason, message] = known ?? ['not-verified', 'Stripe could not verify you.']
  return new ProviderRefusal(`${message} You can begin again.`, { reason })
}
