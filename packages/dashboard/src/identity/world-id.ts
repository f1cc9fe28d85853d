import type { IDKitErrorCodes, IDKitRequest, IDKitRequestConfig } from '@worldcoin/idkit-core'
import { BrowserError } from '../api/browser-errors.ts'

/** `client` of `POST /api/identity/{provider}/begin` for World ID. */
type WorldIdClient = Omit<IDKitRequestConfig, 'allow_legacy_proofs'> & { readonly signal: string }

export interface WorldIdRequest {
  /** Shown as a QR code, and as a link for devices that have World App installed. */
  readonly connectorUri: string
  /** The proof, to be sent unchanged to complete the verification. Rejects with a BrowserError. */
  readonly result: Promise<unknown>
}

/**
 * Requests a World ID proof that the user is a human who was verified at an Orb. The request passes through a bridge
 * of World, encrypted with a key that only the URI contains, and expires after five minutes.
 *
 * IDKit is WebAssembly: the page needs `script-src 'wasm-unsafe-eval'` and `connect-src
 * https://bridge.worldcoin.org`.
 * @param client as returned by `begin`
 * @param stop stops waiting for World App
 * @throws BrowserError
 */
export async function startWorldId(
  client: Readonly<Record<string, unknown>>,
  stop?: AbortSignal,
): Promise<WorldIdRequest> {
  const { signal, ...config } = client as unknown as WorldIdClient
  try {
    // Loaded on demand, because only World ID users need it.
    const { CredentialRequest, IDKit } = await import('@worldcoin/idkit-core')
    const request = await IDKit.request({ ...config, allow_legacy_proofs: false })
      // Not IDKit's preset of the same name, because that one also accepts World ID 3 proofs.
      .constraints(CredentialRequest('proof_of_human', { signal }))
    return { connectorUri: request.connectorURI, result: resultOf(request, stop) }
  } catch {
    throw new BrowserError('World ID could not be reached. Check your connection and try again.')
  }
}

async function resultOf(request: IDKitRequest, stop?: AbortSignal): Promise<unknown> {
  const completion = await request
    .pollUntilCompletion({ timeout: 300_000, ...(stop && { signal: stop }) })
    .catch(() => {
      throw new BrowserError('The connection to World ID was lost. Start again.')
    })
  if (completion.success) return completion.result
  throw new BrowserError(
    ERROR_MESSAGES[completion.error] ??
      'World App could not complete the verification. Start again.',
  )
}

const ERROR_MESSAGES: Partial<Record<`${IDKitErrorCodes}`, string>> = {
  user_rejected: 'You declined the request in World App. Nothing has changed.',
  verification_rejected: 'You declined the request in World App. Nothing has changed.',
  credential_unavailable: 'Your World ID is not verified at an Orb yet.',
  world_id_4_not_available: 'Your World App has no World ID 4 yet. Update it, then start again.',
  feature_unavailable: 'Your World App does not support this. Update it, then start again.',
  invalid_network: 'Your World App belongs to another environment of World than this service.',
  inclusion_proof_pending: 'Your World ID is not ready yet. Try again in an hour.',
  max_verifications_reached: 'Your World ID is already verified on another account.',
  nullifier_replayed: 'Your World ID is already verified on another account.',
  rp_signature_expired: 'The request timed out. Start again.',
  timestamp_too_old: 'The request timed out. Start again.',
  timeout: 'The request timed out. Start again.',
  cancelled: 'You cancelled the request. Nothing has changed.',
  connection_failed: 'The connection to World ID was lost. Start again.',
}
