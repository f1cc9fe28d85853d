import type { IDKitErrorCodes, IDKitRequest, IDKitRequestConfig } from '@worldcoin/idkit-core'
import { Failure } from '../api/failure.ts'

/** `client` of `POST /api/identity/{provider}/begin`, where the provider is World ID. */
type WorldIdClient = Omit<IDKitRequestConfig, 'allow_legacy_proofs'> & { readonly signal: string }

export interface WorldIdRequest {
  /** To be shown as a QR code, and as a link to where World App is on the same device. */
  readonly connectorUri: string
  /** What is to be completed with, unchanged. Rejects with a Failure. */
  readonly result: Promise<unknown>
}

/**
 * Asks World App for a proof that a human is here who was at an Orb. The request goes over a bridge of World, encrypted
 * with a key that only the address has, and is good for five minutes.
 *
 * IDKit is WebAssembly: the page needs `script-src 'wasm-unsafe-eval'` and `connect-src https://bridge.worldcoin.org`.
 * @param client as `begin` gave it
 * @param stop ends the wait for World App
 * @throws Failure
 */
export async function startWorldId(
  client: Readonly<Record<string, unknown>>,
  stop?: AbortSignal,
): Promise<WorldIdRequest> {
  const { signal, ...config } = client as unknown as WorldIdClient
  try {
    // Nobody else needs it.
    const { CredentialRequest, IDKit } = await import('@worldcoin/idkit-core')
    const request = await IDKit.request({ ...config, allow_legacy_proofs: false })
      // Not the preset of the same name, which lets proofs of World ID 3 through.
      .constraints(CredentialRequest('proof_of_human', { signal }))
    return { connectorUri: request.connectorURI, result: resultOf(request, stop) }
  } catch {
    throw new Failure('World ID cannot be reached from this browser. Are you online?')
  }
}

async function resultOf(request: IDKitRequest, stop?: AbortSignal): Promise<unknown> {
  const completion = await request
    .pollUntilCompletion({ timeout: 300_000, ...(stop && { signal: stop }) })
    .catch(() => {
      throw new Failure('The connection to World ID broke off. Begin again.')
    })
  if (completion.success) return completion.result
  throw new Failure(WORDS[completion.error] ?? 'World App could not prove it. Begin again.')
}

const WORDS: Partial<Record<`${IDKitErrorCodes}`, string>> = {
  user_rejected: 'You said no in World App, so nothing was verified.',
  verification_rejected: 'You said no in World App, so nothing was verified.',
  credential_unavailable: 'Your World ID is not verified at an Orb yet.',
  world_id_4_not_available: 'Your World App has no World ID 4 yet. Update it, then begin again.',
  feature_unavailable: 'Your World App cannot do this yet. Update it, then begin again.',
  invalid_network: 'Your World App belongs to another environment of World than this service.',
  inclusion_proof_pending: 'Your World ID is not ready yet. Try again in an hour.',
  max_verifications_reached: 'Your World ID was verified here before.',
  nullifier_replayed: 'Your World ID was verified here before.',
  rp_signature_expired: 'That took too long. Begin again.',
  timestamp_too_old: 'That took too long. Begin again.',
  timeout: 'That took too long. Begin again.',
  cancelled: 'You stopped before World App answered.',
  connection_failed: 'The connection to World ID broke off. Begin again.',
}
