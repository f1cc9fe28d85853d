import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorCode } from '@countersign/protocol'
import type { Parameter } from '../openapi-types.ts'
import { STAND_IN } from '../stand-ins.ts'
import type { Delivered } from './record-integrations.ts'
import type { Example, Examples } from './recorder.ts'

/** What `record-examples.ts` stores. */
export interface StoredExamples extends Examples {
  readonly deliveries: readonly Delivered[]
}

const EXAMPLES_FILE = join(import.meta.dirname, 'examples.json')

/**
 * What the service of the examples was asked and answered, under the stand-ins for the names of a deployment. What is signed is
 * left as it is: signatures hold for the default names at the URL of the examples.
 */
export class RecordedExamples {
  readonly #stored: StoredExamples

  constructor(text = readFileSync(EXAMPLES_FILE, 'utf8')) {
    this.#stored = JSON.parse(withStandIns(text))
  }

  get deliveries(): readonly Delivered[] {
    return this.#stored.deliveries
  }

  /** The usual request for an operation; undefined if none was recorded. */
  request(operationId: string): Example['request'] | undefined {
    return this.#stored.operations[operationId]?.[0]?.request
  }

  /** An answer of an operation with a status, and a media type if it has a body. */
  response(operationId: string, status: string, type?: string): Example['response'] | undefined {
    return this.#stored.operations[operationId]
      ?.map(({ response }) => response)
      .find((each) => {
        const own = each.headers['content-type']?.split(';')[0]
        return String(each.status) === status && (type === undefined || own === type)
      })
  }

  error(code: ErrorCode): unknown {
    return this.#stored.errors[code]?.response.body ?? UNRECORDED_ERRORS[code]
  }

  /** The value of a parameter in the usual request, else a value of its own. @param path of the operation, as a template */
  parameter(operationId: string, path: string, { in: place, name, schema }: Parameter): unknown {
    const { target = '', headers = {} } = this.request(operationId) ?? {}
    const [pathname = '', query] = target.split('?')
    if (place === 'path') {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each)
      const shape = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')
      const value = new RegExp(`^${shape}$`).exec(pathname)?.[1 + names.indexOf(name)]
      if (value !== undefined) return decodeURIComponent(value)
      if (target !== '') throw new Error(`${operationId}: ${target} is not of the form ${path}`)
    }
    const sent = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
    const value = place === 'query' ? new URLSearchParams(query).get(name) : sent
    return value ?? schema.enum?.[0] ?? PARAMETERS[name]
  }
}

/** Names of the recorded deployment, wherever they are no part of a base64 text. */
function withStandIns(text: string): string {
  return text
    .replaceAll('https://id.example', STAND_IN.baseUrl)
    .replaceAll('id.example', new URL(STAND_IN.baseUrl).host)
    .replaceAll(
      /(?<![A-Za-z0-9+])svc(?=:agent:|-key-|-verify-|-recover-|-report-|-scim-|-challenge|\/agent\/|Did)/g,
      () => STAND_IN.shortName,
    )
    .replaceAll('"shortName": "svc"', `"shortName": "${STAND_IN.shortName}"`)
    .replaceAll('ServiceID', STAND_IN.idHeader)
    .replaceAll('Countersign', STAND_IN.serviceName)
}

const REQUEST_ID = 'req_9f86d081884c7d659a2feaa0'
const refusal = (code: ErrorCode, message: string) => ({
  error: { code, message, requestId: REQUEST_ID },
})

/** Errors that no client can cause at will. */
const UNRECORDED_ERRORS: Readonly<Partial<Record<ErrorCode, unknown>>> = {
  RATE_LIMITED: refusal(
    'RATE_LIMITED',
    'Too many requests of this kind from your address. Try again in 12 s.',
  ),
  INTERNAL_ERROR: refusal(
    'INTERNAL_ERROR',
    'Internal error. The request may be correct. Report the requestId to the operator.',
  ),
  NOT_IMPLEMENTED: refusal(
    'NOT_IMPLEMENTED',
    'The only transfer coding that is supported is chunked.',
  ),
  UNAVAILABLE: refusal('UNAVAILABLE', 'The database does not respond. Nothing was changed.'),
}

/** Values of parameters that the usual requests leave out, by name. */
const PARAMETERS: Readonly<Record<string, string>> = {
  responsible: 'none',
  after: '0',
  before: '120',
  from: '0',
  crop: '0,0,512',
  provider: 'stripe',
  v: '47DEQpj8HBSa',
  limit: '20',
  file: 'countersign-sdk-0.1.0.tgz',
  search: 'travel',
  startIndex: '1',
  count: '100',
  originHash: '0'.repeat(64),
}
