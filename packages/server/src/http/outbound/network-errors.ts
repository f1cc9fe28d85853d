import { untilAborted } from '../../base/timeout.ts'
import { ResponseTooLargeError } from './bounded-fetch.ts'
import { ProofAbsent, Unreachable } from './perspective.ts'

/**
 * Waits for network work until `signal` aborts, and turns what fails into a sentence for the owner.
 * @param host what was asked, for the message
 * @throws ProofAbsent and Unreachable; errors that are not of the network, which are bugs, as they are
 */
export async function withNetworkErrors<T>(
  host: string,
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  try {
    return await untilAborted(work, signal)
  } catch (error) {
    if (error instanceof ProofAbsent || error instanceof Unreachable) throw error
    throw new Unreachable(describe(error, host))
  }
}

/** By the error codes of node:net, node:tls and undici. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closes the connection',
  EPIPE: 'closes the connection',
  UND_ERR_SOCKET: 'closes the connection',
  ETIMEDOUT: 'does not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'does not answer in time',
  UND_ERR_BODY_TIMEOUT: 'does not answer in time',
  UND_ERR_HEADERS_OVERFLOW: 'sends headers that are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  CERT_REVOKED: 'has a revoked certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT: 'has a certificate of an untrusted authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'has a certificate of an untrusted authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an untrusted authority',
}

/** @throws the error itself if it is not an error of the network */
function describe(error: unknown, host: string): string {
  if (error instanceof ResponseTooLargeError) return `${host} answers with more than 64 KiB.`
  const { name, code } = error as { name?: unknown; code?: unknown }
  if (name === 'TimeoutError') return `${host} does not answer in time.`
  if (name === 'AbortError') return `The request to ${host} was cancelled.`
  // Checked by name: its code is llhttp's (HPE_…), and sometimes missing.
  if (name === 'HTTPParserError') return `${host} does not respond with HTTP.`
  if (typeof code !== 'string') throw error
  if (/^ERR_(?:SSL|TLS)_/.test(code) && REASONS[code] === undefined) {
    return `The TLS connection to ${host} failed.`
  }
  return `${host} ${REASONS[code] ?? `cannot be reached (${code})`}.`
}
