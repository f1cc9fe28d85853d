import type Stripe from 'stripe'
import type { Outside } from './http-json.ts'
import { ProviderFailure } from './provider.ts'

/**
 * Loads Stripe's library, 36 MB in memory, which a service without it does not pay for.
 * @param address without a slash at the end
 */
export async function connectStripe(
  address: string | undefined,
  key: string,
  { timeLimitMs }: Outside,
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
export async function askStripe<T>(call: () => Promise<T>): Promise<T> {
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
