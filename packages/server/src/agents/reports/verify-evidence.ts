import {
  agentOfKeySetUrl,
  CodedError,
  CREDENTIAL_HEADERS,
  type DelegationRoot,
  type Evidence,
  fieldValue,
  type HeaderFields,
  headerFields,
  keyThumbprint,
  MAX_CLOCK_SKEW,
  MAX_EVIDENCE_AGE_MS,
  type Naming,
  readSignatureInput,
  requestVerifier,
  type SignatureInput,
  type SignatureReason,
  type SigningKey,
  singletonHeaders,
  type Tail,
} from '@countersign/protocol'
import { sha256 } from '../../base/sha256.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import type { ReportEvidenceRow } from '../../database/schema/report-rows.ts'
import type { Ed25519Verifier } from '../../secrets/ed25519.ts'
import type { AgentKey } from '../keys/key-table.ts'
import { rawRequestOf } from '../verification/verify-signed-request.ts'

/** Whether a certificate of this service has a valid signature, and was valid at a time. Its status does not count. */
export type CertificateCheck = (
  root: Pick<DelegationRoot, 'certificate' | 'did'>,
  now: number,
) => Promise<boolean>

export interface EvidenceDeps {
  readonly site: Site
  readonly ed25519: Ed25519Verifier
  readonly wasCertified: CertificateCheck
}

/** A request of a report that could be read, and was not verified. */
export interface ReadEvidence {
  readonly position: number
  readonly sent: Evidence
  /** Such as `https://shop.example`. */
  readonly origin: string
  readonly host: string
  readonly path: string
  readonly fields: HeaderFields
  readonly input: SignatureInput
  /** When it was signed, in milliseconds since 1970, by the clock of the signer. */
  readonly createdAt: number
}

/** A request that a key of the agent has signed, in the time of the key. */
export type VerifiedEvidence = Omit<ReportEvidenceRow, 'report_id'>

/** Keys are replaced while requests are under way, and clocks differ. */
const KEY_TOLERANCE_MS = 60_000
/** Of a name in the DNS (RFC 1035), with a port. `URL` takes longer ones. */
const MAX_HOST_LENGTH = 260
/** A site decides on its own which chains it accepts. What it sends here, it has accepted. */
const ANY_CHAIN = { maxDepth: 3, maxSeconds: 86_400, mcp: true }

/**
 * Reads the requests of a report, without a key.
 * @param now milliseconds since 1970
 * @throws CodedError VALIDATION_ERROR if one has credentials, cannot be read or is too old, or they are for several hosts
 */
export function readEvidence(
  naming: Naming,
  sent: readonly Evidence[],
  now: number,
): readonly [ReadEvidence, ...ReadEvidence[]] {
  const read = sent.map((each, position) => readRequest(naming, each, position, now))
  const [first, ...others] = read
  if (first === undefined) throw new Error('a report has evidence')
  const stranger = others.find(({ origin }) => origin !== first.origin)
  if (stranger !== undefined) {
    throw faulty(
      stranger.position,
      `is for ${stranger.host}. A report is about one host, here ${first.host}.`,
    )
  }
  return [first, ...others]
}

function readRequest(naming: Naming, sent: Evidence, position: number, now: number): ReadEvidence {
  const fields = headerFields(rawRequestOf(sent).headers)
  const credential = CREDENTIAL_HEADERS.find((name) => fields.has(name))
  if (credential !== undefined) {
    throw faulty(position, `has the header ${credential}. Choose a request without credentials.`)
  }
  if (!URL.canParse(sent.url)) throw faulty(position, 'has no valid URL.')
  const { origin, host, pathname } = new URL(sent.url)
  if (host.length > MAX_HOST_LENGTH) throw faulty(position, 'has no valid host.')
  const input = readSignatureInput(fields, singletonHeaders(naming.idHeader))
  if (typeof input === 'string') throw refused(position, input)
  if (input.created === null) throw refused(position, 'lifetime')
  const createdAt = input.created * 1000
  if (createdAt > now + MAX_CLOCK_SKEW * 1000) throw refused(position, 'not-yet-valid')
  if (createdAt < now - MAX_EVIDENCE_AGE_MS) {
    throw faulty(position, 'was signed more than 30 days ago (expired).')
  }
  return { position, sent, origin, host, path: pathname, fields, input, createdAt }
}

/**
 * Verifies a request as its site should have when it arrived, with the key that the agent had then: a key that was replaced or
 * reported since counts. The status of the agent does not.
 * @param keys all keys of the agent
 * @throws CodedError VALIDATION_ERROR with the reason
 */
export async function verifyEvidence(
  deps: EvidenceDeps,
  tail: Tail,
  keys: readonly AgentKey[],
  read: ReadEvidence,
): Promise<VerifiedEvidence> {
  const { site, ed25519, wasCertified } = deps
  const { position, sent, origin, createdAt } = read
  const did = didOfAgent(site, tail)
  const isAgent = (url: string) => agentOfKeySetUrl(site.naming, site.baseUrl, url) === tail
  const keyAt = (keyid: string): SigningKey | 'unknown-key' => {
    const key = keys.find(
      (each) =>
        each.state !== 'lost' &&
        keyThumbprint(each.public_key) === keyid &&
        isInTime(each, createdAt),
    )
    return key === undefined ? 'unknown-key' : { publicKey: key.public_key, did, status: 'active' }
  }
  let rootKeyid: string | null = null
  const verify = requestVerifier({
    audiences: [origin],
    naming: site.naming,
    verifySignature: (...args) => ed25519.verify(...args),
    nonces: null,
    now: () => createdAt,
    findKey: ({ signatureAgent, keyid }) =>
      isAgent(signatureAgent.url) ? keyAt(keyid) : 'untrusted-agent',
    delegation: {
      ...ANY_CHAIN,
      async findRoot(root) {
        if (!isAgent(root.signatureAgent.url)) return 'untrusted-agent'
        if (root.did !== did || !(await wasCertified(root, createdAt))) return 'delegation-invalid'
        rootKeyid = root.keyid
        return keyAt(root.keyid)
      },
    },
  })
  const { verdict, reason, keyid, delegation } = await verify(rawRequestOf(sent))
  if (verdict !== 'verified' || keyid === null) {
    throw refused(position, reason as SignatureReason)
  }
  const { signature } = read.input
  return {
    position,
    signature_hash: sha256(signature),
    method: sent.method,
    path: read.path,
    created: createdAt,
    keyid: delegation === null ? keyid : (rootKeyid ?? keyid),
    delegate: delegation === null ? null : keyid,
    request: JSON.stringify(coveredPart(read)),
  }
}

function isInTime({ valid_from, valid_until }: AgentKey, time: number): boolean {
  if (time < valid_from - KEY_TOLERANCE_MS) return false
  return valid_until === null || time <= valid_until + KEY_TOLERANCE_MS
}

/** Without the fields that nobody has signed: they prove nothing, and may say more of the site’s visitors than it wants to. */
function coveredPart({ sent, fields, input }: ReadEvidence): Evidence {
  const covered = input.components.map(({ name }) => name).filter((name) => !name.startsWith('@'))
  const needed = new Set(['signature-input', 'signature', ...covered])
  const headers = [...needed].flatMap((name) => {
    const value = fieldValue(fields, name)
    return value === null ? [] : [[name, value]]
  })
  return { method: sent.method, url: sent.url, headers }
}

function refused(position: number, reason: SignatureReason): CodedError {
  return faulty(position, `does not count: ${MEANINGS[reason] ?? 'its signature'} (${reason}).`)
}

/** Of the commonest reasons. The others are in the documentation of `verify-request`. */
const MEANINGS: Partial<Readonly<Record<SignatureReason, string>>> = {
  unsigned: 'it has no signature',
  components: 'the signature does not cover enough of it',
  'not-yet-valid': 'it was signed in the future',
  lifetime: 'the signature has no lifetime of at most 300 seconds',
  'untrusted-agent': 'it is not of this agent',
  'unknown-key': 'the agent did not have this key when it was signed',
  'bad-signature': 'the signature is not one over this request',
  'identification-mismatch': 'it names another agent',
}

function faulty(position: number, what: string): CodedError {
  return new CodedError('VALIDATION_ERROR', `evidence[${position}] ${what}`)
}
