import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import type { Naming } from '../naming.ts'
import { REPORT_TEXT_PATTERN } from '../text.ts'
import { did, timestamp } from './formats.ts'
import { thumbprint } from './key-set.ts'
import { KEY_STATES } from './keys.ts'
import { nullable } from './nullable.ts'
import { receivedRequest } from './signed-request.ts'

/** Reports: sites tell the owner of an agent what it did, with requests that it signed (docs/reports.md). */

/** What a report is about. */
export const REPORT_CATEGORIES = ['rate', 'fraud', 'scraping', 'impersonation', 'other'] as const

export type ReportCategory = (typeof REPORT_CATEGORIES)[number]

export const REPORT_STATES = ['open', 'answered', 'closed'] as const

/** Requests in one report. */
export const MAX_REPORT_EVIDENCE = 5
/** How old the signature of a request in a report may be. */
export const MAX_EVIDENCE_AGE_MS = 30 * 86_400_000

/** Header fields that nobody should pass on to a third party. In lower case. */
export const CREDENTIAL_HEADERS: readonly string[] = [
  'authorization',
  'cookie',
  'proxy-authorization',
]

const text = (description: string) =>
  Type.String({ pattern: REPORT_TEXT_PATTERN.source, description })

const id = () =>
  Type.String({
    pattern: `^rp_${BASE58_CLASS}{22}$`,
    description: 'rp_ and 22 base58 characters',
  })

const category = () =>
  Type.Enum([...REPORT_CATEGORIES], {
    type: 'string',
    description: 'rate: too many requests; impersonation: the agent pretends to be somebody else',
  })

const state = () =>
  Type.Enum([...REPORT_STATES], {
    type: 'string',
    description: 'closed: withdrawn, or closed by the operator of the service',
  })

/** A request that an agent has signed, without credentials. */
export const evidenceSchema = () =>
  Type.Object(
    receivedRequest(
      `the header fields that the signature covers, Signature-Input and Signature, one entry for each line. Never ${CREDENTIAL_HEADERS.join(', ')}`,
    ),
    { additionalProperties: false },
  )

export type Evidence = Static<ReturnType<typeof evidenceSchema>>

/** `POST /api/v1/reports` */
export const newReportSchema = () =>
  Type.Object(
    {
      agent: Type.String({ description: 'a DID, or its 24-character tail' }),
      category: category(),
      text: text(
        'what happened: 1 to 1,000 characters, without control characters, text direction overrides, check marks and seals',
      ),
      contact: Type.Optional(
        nullable(
          Type.String({
            maxLength: 254,
            description:
              'an e-mail address that the owner may write to. The service never writes to it',
          }),
        ),
      ),
      evidence: Type.Array(evidenceSchema(), {
        minItems: 1,
        maxItems: MAX_REPORT_EVIDENCE,
        description: 'requests of the agent to one host, signed in the last 30 days',
      }),
    },
    { additionalProperties: false },
  )

export type NewReport = Static<ReturnType<typeof newReportSchema>>

export const receivedReportSchema = () =>
  Type.Object({
    id: id(),
    receivedAt: timestamp(),
    token: Type.String({
      pattern: '^[a-z][a-z0-9]{0,15}-report-[0-9a-f]{32}$',
      description: 'shown only once: with it you read the answer, and withdraw the report',
    }),
  })

export type ReceivedReport = Static<ReturnType<typeof receivedReportSchema>>

const answered = () => ({
  state: state(),
  answer: nullable(Type.String({ description: 'of the owner of the agent' })),
  answeredAt: nullable(timestamp()),
})

/** `GET /api/v1/reports/{id}`: what the site that sent it sees. */
export const reportStateSchema = () => Type.Object({ id: id(), ...answered() })

export type ReportState = Static<ReturnType<typeof reportStateSchema>>

/** What is stored of a request in a report for as long as the report. */
const reportedRequest = () =>
  Type.Object({
    method: Type.String(),
    path: Type.String({ description: 'without the query' }),
    url: nullable(
      Type.String({
        description: 'with the query; null 90 days after the report, and once it is withdrawn',
      }),
    ),
    signedAt: {
      ...timestamp(),
      description: 'as the signer wrote it. When the request arrived, nobody has proven',
    },
    keyid: thumbprint('the JWK thumbprint of the key of the agent'),
    delegate: nullable(
      thumbprint('the key that has signed, if the agent delegated to it; null: its own key'),
    ),
    key: Type.Object(
      {
        sequence: Type.Integer({ description: 'the number of the key of the agent' }),
        state: Type.Enum([...KEY_STATES], { type: 'string' }),
        until: nullable({ ...timestamp(), description: 'until when it was valid; null: it is' }),
      },
      { description: 'what is known of the key now. It was valid when the request was signed' },
    ),
  })

const ownReport = () => ({
  id: id(),
  host: Type.String({
    description: 'that the requests were signed for. It need not have reported',
  }),
  category: category(),
  text: nullable(Type.String({ description: 'what the reporter says; null: withdrawn' })),
  receivedAt: timestamp(),
  ...answered(),
  requests: Type.Array(reportedRequest()),
})

/** `GET /api/account/agents/{agent}/reports` */
export const agentReportsSchema = () =>
  Type.Object(
    {
      reports: Type.Array(
        Type.Object({
          ...ownReport(),
          contact: nullable(
            Type.String({ description: 'self-declared, and never verified by the service' }),
          ),
        }),
      ),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'Reports about the agent since you own it, newest first' },
  )

export type AgentReports = Static<ReturnType<typeof agentReportsSchema>>

export const agentReportsQuerySchema = () =>
  Type.Object(
    { before: Type.Optional(Type.String({ maxLength: 25, description: 'the id of a report' })) },
    { additionalProperties: false },
  )

export type AgentReportsQuery = Static<ReturnType<typeof agentReportsQuerySchema>>

/** `POST /api/account/agents/{agent}/reports/{id}/answer` */
export const reportAnswerSchema = () =>
  Type.Object(
    { text: text('what the site that reported reads, once: 1 to 1,000 characters') },
    { additionalProperties: false },
  )

export type ReportAnswer = Static<ReturnType<typeof reportAnswerSchema>>

/** `GET /api/account/agents/{agent}/reports/{id}/evidence` */
export const reportEvidenceSchema = () =>
  Type.Object(
    { evidence: Type.Array(evidenceSchema()) },
    { description: 'The signed requests, which anyone can verify with the keys of the agent' },
  )

export type ReportEvidence = Static<ReturnType<typeof reportEvidenceSchema>>

/** Reports in the export of an account: without the contact, which is of somebody else. */
export const exportedReportsSchema = () =>
  Type.Array(Type.Object({ ...ownReport(), evidence: Type.Array(evidenceSchema()) }), {
    description: 'reports about the agent since you own it, newest first',
  })

/** The same of agents that the owner has given to others since. */
export const exportedFormerReportsSchema = (naming: Naming) =>
  Type.Array(
    Type.Object({
      [naming.didField]: did(naming),
      ...ownReport(),
      evidence: Type.Array(evidenceSchema()),
    }),
    { description: 'reports about agents that you have given to others since, newest first' },
  )
