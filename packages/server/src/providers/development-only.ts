import { isLoopback } from '@countersign/protocol'
import { ProviderFailure } from './provider.ts'

/**
 * Refuses what proves nothing, such as a test environment, wherever others could be shown it as proof.
 * @param callbackUrl stands on the service's own address
 * @throws ProviderFailure
 */
export function requireDevelopment(callbackUrl: string, what: string): void {
  if (isLoopback(new URL(callbackUrl).hostname)) return
  throw new ProviderFailure(`${what} counts only where this service is on loopback.`)
}
