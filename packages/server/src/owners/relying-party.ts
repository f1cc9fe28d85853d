import { isIP } from 'node:net'
import { CodedError } from '@countersign/protocol'
import type { OwnerDeps } from '../core/deps.ts'
import type { Site } from '../core/site.ts'
import type { RelyingParty } from './webauthn.ts'

/** Browsers bind passkeys to host names, and know none at an IP address. */
export function allowsPasskeys({ baseUrl }: Pick<Site, 'baseUrl'>): boolean {
  return isIP(new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')) === 0
}

/**
 * Who asks for passkeys here.
 * @throws CodedError VALIDATION_ERROR where the service stands at an IP address
 */
export function relyingPartyOf({
  site,
  serviceName,
}: Pick<OwnerDeps, 'site' | 'serviceName'>): RelyingParty {
  if (!allowsPasskeys(site)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'Browsers allow no passkeys at an IP address. Use the host name of this service.',
    )
  }
  return { id: new URL(site.baseUrl).hostname, origin: site.baseUrl, name: serviceName }
}
