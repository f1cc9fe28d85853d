import { untilAborted } from '../timeout.ts'
import { ProofAbsent, Unreachable } from './perspective.ts'

/**
 * Waits for work until a signal ends the waiting: not everything can be ended itself, a look-up in the DNS cannot.
 * @param place what is asked, for people
 * @throws ProofAbsent, Unreachable: what fails on the network becomes a sentence
 */
export async function inTime<T>(place: string, signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await untilAborted(work, signal)
  } catch (error) {
    if (error instanceof ProofAbsent || error instanceof Unreachable) throw error
    throw new Unreachable(reasonOf(error, place))
  }
}

/** Why a host could not be asked, for people, by the codes of node:net, node:tls and undici. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'closes the connection',
  EPIPE: 'closes the connection',
  UND_ERR_SOCKET: 'closes the connection',
  ETIMEDOUT: 'does not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'does not answer in time',
  UND_ERR_BODY_TIMEOUT: 'does not answer in time',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'answers with more than 64 KiB',
  UND_ERR_HEADERS_OVERFLOW: 'answers with headers that are too large',
  ERR_TLS_CERT_ALTNAME_INVALID: 'shows a certificate that is for another name',
  CERT_HAS_EXPIRED: 'shows a certificate that has expired',
  CERT_NOT_YET_VALID: 'shows a certificate that is not valid yet',
  CERT_REVOKED: 'shows a certificate that is revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'shows a certificate that nobody vouches for',
  SELF_SIGNED_CERT_IN_CHAIN: 'shows a certificate of an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'shows a certificate of an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'shows a certificate of an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'shows a certificate of an authority that is not trusted',
}

/**
 * A sentence on a failed request.
 * @throws the error itself where it is none of the network but a mistake of ours
 */
function reasonOf(error: unknown, host: string): string {
  const { name, code } = error as { name?: unknown; code?: unknown }
  if (name === 'TimeoutError') return `${host} does not answer in time.`
  if (name === 'AbortError') return `${host} was not waited for.`
  // Its code is llhttp's (HPE_…), and not always there.
  if (name === 'HTTPParserError') return `${host} answers with what is not HTTP.`
  if (typeof code !== 'string') throw error
  if (/^ERR_(?:SSL|TLS)_/.test(code) && REASONS[code] === undefined) {
    return `${host} does not speak TLS as it should.`
  }
  return `${host} ${REASONS[code] ?? `cannot be reached (${code})`}.`
}
