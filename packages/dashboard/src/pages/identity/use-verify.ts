import type { VerificationBegun } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useAction } from '../../components/use-action.ts'

/** The data for a provider that runs on this page instead of by redirect. */
export type ProviderClient = NonNullable<VerificationBegun['client']>

/**
 * Starts or renews a verification, and with `publishName` publishes the name that the provider verifies. Most providers
 * redirect the browser. For those that run on this page, `client` is set.
 */
export function useVerify(provider: string, publishName: boolean) {
  const [client, setClient] = useState<ProviderClient | null>(null)
  const begin = useAction(async () => {
    const path = `/api/identity/${encodeURIComponent(provider)}/begin`
    const begun = await send<VerificationBegun>('POST', path, publishName ? { publishName } : {})
    if (begun.redirect !== null) location.assign(begun.redirect)
    else setClient(begun.client)
  })
  return { ...begin, client, stop: () => setClient(null) }
}
