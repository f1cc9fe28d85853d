import assert from 'node:assert/strict'
import type { Answer } from './answer.ts'
import { judgeFor } from './openapi.ts'
import { only, type RawOptions, sendRaw } from './raw-http.ts'
import type { TestService } from './service.ts'

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

/**
 * Sends a request and asserts that the response conforms to the service's own /openapi.json.
 * @param target path and query
 */
export async function ask(service: TestService, target: string, init: Ask = {}): Promise<Answer> {
  const response = await fetch(service.url + target, { redirect: 'manual', ...init })
  const answer = {
    status: response.status,
    headers: response.headers,
    text: await response.text(),
  }
  const openApi = await judgeFor(service.env, service.url)
  openApi.assertConforms(init.method ?? 'GET', target, answer)
  return answer
}

/** Posts JSON. Text and bytes are sent unchanged. */
export function post(
  service: TestService,
  target: string,
  body: unknown,
  contentType = 'application/json',
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const encoded = typeof body === 'string' || body instanceof Uint8Array
  return ask(service, target, {
    method: 'POST',
    headers: { 'content-type': contentType, ...headers },
    body: encoded ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body),
  })
}

/** Sends raw bytes and returns the only response, checked against /openapi.json if the bytes name a route. */
export async function askRaw(
  service: TestService,
  bytes: string | Uint8Array,
  options: RawOptions = {},
): Promise<Answer> {
  const { answers, rest } = await sendRaw(service.url, bytes, options)
  if (options.head !== true) assert.equal(rest, '', 'nothing but the answer')
  const answer = only(answers)
  const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1')
  const [method = '', target = ''] = text.split(' ', 2)
  const openApi = await judgeFor(service.env, service.url)
  openApi.assertConforms(method, target, answer)
  return answer
}
