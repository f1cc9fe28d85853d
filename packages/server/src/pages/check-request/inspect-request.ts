import {
  APPROVED_BY,
  type ApprovalPolicy,
  agentOfKeySetUrl,
  type DelegationRoot,
  type KeyReference,
  MAX_APPROVAL_SECONDS,
  MAX_DIRECTORY_LIFETIME,
  type NonceStore,
  requestVerifier,
  type SignatureAgent,
  type SignatureResult,
  type SignatureRules,
} from '@countersign/protocol'
import { rawRequestOf } from '../../agents/verification/verify-signed-request.ts'
import { breakRequest } from './break-request.ts'
import { type Check, checksOf } from './checks.ts'
import { type DecodedRequest, decodeRequest } from './decode-request.ts'
import { type FindKeyDeps, findKey, findRoot, type KeySource } from './find-key.ts'
import type { Inspected } from './inspected.ts'
import { parsePasted } from './parse-pasted.ts'
import { parsePastedKey } from './pasted-key.ts'
import { EntryFault, type RequestForm, timeOf } from './request-form.ts'
import { requestLines } from './request-lines.ts'
import { isRedacted, type RequestLink, requestLink } from './request-link.ts'

export type Inspection =
  | (Inspected & {
      readonly kind: 'checked'
      readonly checks: readonly Check[]
      readonly link: RequestLink
    })
  | { readonly kind: 'fault'; readonly fault: EntryFault }

/**
 * Makes the checks of a pasted request with the verifier of all sites. Nothing is recorded. A key directory is read if the signature names
 * one and no key was pasted.
 * @param address of the visitor
 * @throws CodedError, StorageFailure for faults of the service, never for the input
 */
export async function inspectRequest(
  deps: FindKeyDeps,
  form: RequestForm,
  address: string,
): Promise<Inspection> {
  try {
    return await inspect(deps, form, address)
  } catch (error) {
    if (error instanceof EntryFault) return { kind: 'fault', fault: error }
    throw error
  }
}

async function inspect(deps: FindKeyDeps, form: RequestForm, address: string): Promise<Inspection> {
  const { naming } = deps.site
  const pasted = parsePasted(form)
  const broken = breakRequest(pasted, form.break)
  const { request } = broken
  const raw = {
    ...rawRequestOf(request),
    body: request.body === null ? undefined : bytes(request.body),
  }
  const decoded = decodeRequest(raw, naming)
  const present = timeOf(form) ?? deps.now()
  const now = broken.name === 'age' ? afterEndOf(decoded, present) : present
  const keys = form.key === '' ? null : parsePastedKey(form.key)
  const search = { swapped: broken.key, pasted: keys, address, now }
  const carriesApproval = decoded.fields.has(naming.tokenHeaders.approval.toLowerCase())
  const looked: { source: KeySource | null } = { source: null }
  const verify = (body: Uint8Array | undefined, nonces: NonceStore) =>
    requestVerifier({
      audiences: [request.audience],
      naming,
      async findKey(reference: KeyReference) {
        const { key, source } = await findKey(deps, search, reference)
        looked.source = source
        return key
      },
      delegation: {
        ...ANY_CHAIN,
        async findRoot(root: DelegationRoot) {
          const { key, source } = await findRoot(deps, now, root)
          looked.source = source
          return key
        },
      },
      approval: carriesApproval
        ? { ...ANY_APPROVAL, verifyToken: deps.approvalsAt(() => now) }
        : null,
      verifySignature: (...args) => deps.ed25519.verify(...args),
      nonces,
      rulesOf: (agent) => rulesOf(deps, agent),
      now: () => now,
    })({ ...raw, body })
  const result = await verifyVariants(verify, request.body, broken.name === 'replay')
  const lines = requestLines(decoded, request.body, result, broken.changed)
  const inspected: Inspected = {
    naming,
    audience: request.audience,
    now,
    isPinned: form.at !== '',
    isLive: form.at === '' && broken.name === null,
    broken,
    decoded,
    result,
    lines,
    source: looked.source,
    isRedacted: isRedacted(pasted, decoded),
  }
  return {
    ...inspected,
    kind: 'checked',
    checks: checksOf(inspected),
    link: requestLink(form, pasted, decoded, present),
  }
}

/** The policy of the site decides. */
const ANY_CHAIN = { maxDepth: 3, maxSeconds: 86_400, mcp: true }
/** An approval covers the digest; another check compares that with the body, if it was pasted. */
const ANY_APPROVAL: ApprovalPolicy = {
  maxAgeSeconds: MAX_APPROVAL_SECONDS,
  by: APPROVED_BY,
  bodyCheckedByApplication: true,
}

/** Signers that this service has not certified may follow the drafts: a signature over the host, for a day. */
const DRAFT_RULES: SignatureRules = { profile: 'wba', maxLifetimeSeconds: MAX_DIRECTORY_LIFETIME }

function rulesOf({ site }: FindKeyDeps, { url }: SignatureAgent): SignatureRules | null {
  return agentOfKeySetUrl(site.naming, site.baseUrl, url) === null ? DRAFT_RULES : null
}

/** A minute after the signature ends. */
function afterEndOf({ input }: DecodedRequest, present: number): number {
  const end = typeof input === 'string' ? null : input.expires
  return (end === null ? present : end * 1000) + 60_000
}

type Verify = (body: Uint8Array | undefined, nonces: NonceStore) => Promise<SignatureResult>

/** @param isReplay the request arrives a second time */
async function verifyVariants(
  verify: Verify,
  body: string | null,
  isReplay: boolean,
): Promise<SignatureResult> {
  let result: SignatureResult | null = null
  for (const each of bodyVariants(body)) {
    const nonces = siteMemory()
    result = await verify(each, nonces)
    if (isReplay && result.verdict === 'verified') result = await verify(each, nonces)
    if (result.reason !== 'digest') break
  }
  if (result === null) throw new Error('a request has at least one body variant')
  return result
}

/** What a site remembers of the requests that it has accepted, for one request. */
function siteMemory(): NonceStore {
  const used = new Set<string>()
  return {
    record({ hash }) {
      if (used.has(hash)) return 'used'
      used.add(hash)
      return 'fresh'
    },
  }
}

/** Forms change line ends (HTML 4.10.21.4), and editors add one at the end. */
function bodyVariants(text: string | null): (Uint8Array | undefined)[] {
  if (text === null) return [undefined]
  const texts = [text, text.replace(/\n$/, '')].flatMap((each) => [
    each,
    each.replaceAll(/\r?\n/g, '\r\n'),
  ])
  return [...new Set(texts)].map(bytes)
}

function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'utf8'))
}
