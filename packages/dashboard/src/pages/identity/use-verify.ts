import type { VerificationBegun } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useAction } from '../../parts/use-action.ts'

/** What a provider's own program in this page begins with. */
export type ProviderClient = NonNullable<VerificationBegun['client']>

/**
 * Begins a verification, or its renewal. The provider takes over in this window and sends the browser back, or it has
 * a program of its own in this page, which `client` is for.
 */
export function useVerify(provider: string) {
  const [client, setClient] = useState<ProviderClient | null>(null)
  const begin = useAction(async () => {
    const path = `/api/identity/${encodeURIComponent(provider)}/begin`
    const begun = await send<VerificationBegun>('POST', path)
    if (begun.redirect !== null) location.assign(begun.redirect)
    else setClient(begun.client)
  })
  return { ...begin, client, stop: () => setClient(null) }
}
