import type { ServiceTokens } from './service-tokens.ts'

/**
 * Loads the code that verifies tokens when it is first needed: most clients verify no signatures.
 * @param service its address, which may be an internal one
 */
export function loadServiceTokens(
  service: string,
  fetch: typeof globalThis.fetch,
): () => Promise<ServiceTokens> {
  let loading: Promise<ServiceTokens> | null = null
  return () => {
    loading ??= import('./service-tokens.ts').then(({ serviceTokens }) =>
      serviceTokens(service, fetch),
    )
    return loading
  }
}
