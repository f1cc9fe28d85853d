import type Stripe from 'stripe'
import type { ProviderRuntime } from './http-json.ts'
import { ProviderFailure } from './provider.ts'

/**
 * Loads Stripe's library, 36 MB in memory, which a service without it does not pay for.
 * @param address without a slash at the end
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
 * Stripe's own messages quote parts of keys, and its errors hold what was sent: none of it goes any further.
 * @throws ProviderFailure
 */
export async function callStripe<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new ProviderFailure(words(error))
  }
}

function words(error: unknown): string {
  const { type, statusCode } = error as Partial<Stripe.errors.StripeError>
  if (type === 'StripeAuthenticationError') return 'Stripe does not accept the secret key.'
  if (type === 'StripePermissionError') return 'The secret key may not use Identity at Stripe.'
  if (type === 'StripeConnectionError') return 'Stripe does not answer.'
  if (statusCode !== undefined) return `Stripe answers with an error (status ${statusCode}).`
  return 'Stripe answers in a way that is not understood.'
}

/** Reasons of Stripe that a person can do something about (`last_error.code` of a verification session). */
const WORDS: Readonly<Record<string, string>> = {
  abandoned: 'You left before you were done at Stripe.',
  consent_declined: 'You did not agree to be verified at Stripe.',
  country_not_supported: 'Stripe does not verify documents of your country.',
  device_not_supported: 'Stripe needs a device with a camera.',
  document_expired: 'Your document has expired.',
  document_type_not_supported: 'Stripe does not accept this kind of document.',
  document_unverified_other: 'Stripe could not verify your document.',
  selfie_document_missing_photo: 'Your document has no picture of your face.',
  selfie_face_mismatch: 'Your selfie does not match the picture on your document.',
  selfie_manipulated: 'Stripe holds your selfie for altered.',
  selfie_unverified_other: 'Stripe could not verify your selfie.',
  under_supported_age: 'Stripe does not verify people of your age.',
}

/** @param code null or undefined: nothing was handed in yet */
export function whyNotVerified(code: string | null | undefined): string {
  if (!code) return 'You are not done at Stripe yet. Begin again.'
  return `${WORDS[code] ?? 'Stripe could not verify you.'} You can begin again.`
}
