import type { VerificationBegun } from '@countersign/protocol'
import { send } from '../../api/client.ts'
import { Failure } from '../../api/failure.ts'
import { useAction } from '../../parts/use-action.ts'

/** Begins a verification, or its renewal: the provider takes over in this window, and sends the browser back. */
export function useVerify(provider: string) {
  return useAction(async () => {
    const { redirect } = await send<VerificationBegun>(
      'POST',
      `/api/identity/${encodeURIComponent(provider)}/begin`,
    )
    if (redirect === null) {
      // `client` is for a script of the provider's own. None is here: the page runs no WebAssembly and speaks to no
      // other host.
      throw new Failure(
        'This way needs a program of the provider, which this page cannot run. Take another one.',
      )
    }
    location.assign(redirect)
  })
}
