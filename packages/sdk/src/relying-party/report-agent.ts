import {
  CREDENTIAL_HEADERS,
  DEFAULT_ID_HEADER,
  fieldValue,
  headerFields,
  MAX_REPORT_EVIDENCE,
  readSignatureInput,
  singletonHeaders,
} from '@countersign/protocol'
import type { RawRequest } from '@countersign/protocol/signed-request-types'
import { CountersignError } from '../errors.ts'
import { isTransient, wasNotProcessed } from '../http/retry.ts'
import type { ServiceClient } from '../http/service-client.ts'
import type { CallOptions } from '../options.ts'
import { clientOf, type Registry } from '../registry.ts'
import { wireReader } from '../responses/read-schema.ts'
import * as schemas from '../responses/schemas.ts'

/** A request that an agent has signed, without what the signature does not cover. It can be stored as JSON. */
export interface Evidence {
  readonly method: string
  /** Scheme, host, path and query as received. */
  readonly url: string
  /** The header fields that the signature covers, `signature-input` and `signature`: name and value of each. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** What a site reports to the owner of an agent. */
export interface AgentReport {
  /** Its DID, or the DID's 24-character tail. */
  readonly agent: string
  readonly category: 'rate' | 'fraud' | 'scraping' | 'impersonation' | 'other'
  /** What happened: 1 to 1,000 characters. The owner reads it, nobody else but the operator of the service. */
  readonly text: string
  /** An e-mail address that the owner may write to. The service never does. Default: none. */
  readonly contact?: string | null | undefined
  /** 1 to 5 requests of the agent to one host, signed in the last 30 days. Each can be reported once. */
  readonly evidence: readonly Evidence[]
}

/** A report that the service has received. */
export interface SentReport {
  /** `rp_` and 22 base58 characters. */
  readonly id: string
  readonly receivedAt: string
  /** Reads the answer (`reportStatus`). Store it: the service shows it once. */
  readonly token: string
}

/** What became of a report. */
export interface ReportStatus {
  readonly id: string
  /** `closed`: withdrawn, or closed by the operator of the service. */
  readonly state: 'open' | 'answered' | 'closed'
  /** Of the owner of the agent: text of a stranger. */
  readonly answer: string | null
  readonly answeredAt: string | null
}

/**
 * Keeps of a signed request what a report needs. Call it with the request as it was received, once it is verified.
 * @returns null if the request has no signature that can be read, or the signature covers a credential, such as `Authorization`: that must
 *   not be passed on
 */
export function evidenceOf(request: Request | RawRequest): Evidence | null {
  const { method, url, headers } = 'target' in request ? received(request) : fetched(request)
  const fields = headerFields(headers)
  const input = readSignatureInput(fields, singletonHeaders(DEFAULT_ID_HEADER))
  if (typeof input === 'string' || input.created === null) return null
  const covered = input.components.map(({ name }) => name).filter((name) => !name.startsWith('@'))
  if (covered.some((name) => CREDENTIAL_HEADERS.includes(name))) return null
  const names = new Set(['signature-input', 'signature', ...covered])
  return {
    method,
    url,
    headers: [...names].map((name) => [name, fieldValue(fields, name) ?? ''] as const),
  }
}

function received({ method, scheme, authority, target, headers }: RawRequest) {
  const url = target.startsWith('/') ? `${scheme}://${authority}${target}` : target
  return { method, url, headers }
}

function fetched({ method, url, headers }: Request) {
  return { method, url: url.replace(/#.*$/s, ''), headers: [...headers] }
}

/**
 * Reports an agent to its owner, with requests that it signed (docs/reports.md). They prove that a key of the agent signed them for your
 * host, not that they did harm. Nothing else follows from a report.
 * @throws CountersignError VALIDATION_ERROR, with the request that does not count and why; NOT_FOUND if there is no such agent; CONFLICT if
 *   one of the requests was reported before; RATE_LIMITED; INVALID_ARGUMENT
 */
export async function reportAgent(
  registry: Registry,
  report: AgentReport,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<SentReport> {
  const { agent, category, text, contact = null, evidence } = report
  if (evidence.length < 1 || evidence.length > MAX_REPORT_EVIDENCE) {
    const message = `A report has 1 to ${MAX_REPORT_EVIDENCE} signed requests.`
    throw new CountersignError('INVALID_ARGUMENT', message)
  }
  const body = { agent, category, text, contact, evidence }
  const request = { path: '/api/v1/reports', body, alsoOk: [201] }
  const read = wireReader(schemas.RECEIVED_REPORT, null)
  return (clientOf(registry) as ServiceClient).send(request, read, wasNotProcessed, signal)
}

/**
 * What became of a report, and the answer of the owner.
 * @param report what `reportAgent` returned
 * @throws CountersignError NOT_FOUND, also for a wrong token
 */
export async function reportStatus(
  registry: Registry,
  { id, token }: Pick<SentReport, 'id' | 'token'>,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<ReportStatus> {
  const path = `/api/v1/reports/${encodeURIComponent(id)}`
  const request = { path, headers: { authorization: `Bearer ${token}` } }
  const read = wireReader(schemas.REPORT_STATE, null)
  return (clientOf(registry) as ServiceClient).send(request, read, isTransient, signal)
}
