import type { Naming } from '@countersign/protocol'
import { PLACEHOLDER } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { RecordedExamples } from '../openapi/examples/examples.ts'
import type { Example } from '../openapi/examples/recorder.ts'
import { needsSession } from '../openapi/needs-session.ts'
import type { Operation } from '../openapi/openapi-types.ts'
import { STAND_IN_NAMES } from '../openapi/stand-ins.ts'

/** A curl command for an operation: the request of its example, with one option a line. */
export function curlExample(
  examples: RecordedExamples,
  method: string,
  path: string,
  operation: Operation,
): string {
  const { naming, baseUrl } = STAND_IN_NAMES
  const { operationId, parameters = [], requestBody, tags = [] } = operation
  const sent = examples.request(operationId)
  const textOf = (each: (typeof parameters)[number]) =>
    String(examples.parameter(operationId, path, each))
  const query = sent?.target.includes('?') ? `?${sent.target.split('?')[1]}` : ''
  const target = parameters
    .filter((each) => each.in === 'path')
    .reduce((url, each) => url.replace(`{${each.name}}`, pathSegment(textOf(each))), path)
  const headers = parameters.filter((each) => each.in === 'header')
  const lines = [
    `curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quotedUrl(baseUrl + target + query)}`,
    ...headers.map((each) => `-H ${quoted(`${headerName(naming, each.name)}: ${textOf(each)}`)}`),
    ...signatureOf(sent?.headers ?? {}),
    ...(tags.includes('owner') ? credentialOf(operation) : []),
    ...(tags.includes('scim') ? ['-H "Authorization: Bearer $SCIM_TOKEN"'] : []),
    ...bodyOf(requestBody, sent),
    ...resultOf(operation),
  ]
  return lines.join(' \\\n  ')
}

/** The fields of a signed request. */
function signatureOf(headers: Readonly<Record<string, string>>): string[] {
  const own = Object.entries(headers).filter(([name]) => /^(signature|content-digest)/i.test(name))
  return own.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`)
}

/** The option that sends an API key if one may use the operation, else the session cookie. */
function credentialOf(operation: Operation): string[] {
  if (operation['x-api-key-scope'] !== undefined) return ['-H "Authorization: Bearer $API_KEY"']
  return needsSession(operation) ? ['-b cookies.txt'] : []
}

/** Where it fits into no line and is not signed, the body has a line for each member. */
function bodyOf(
  body: Operation['requestBody'],
  { body: sent = {}, headers = {} }: Partial<Example['request']> = {},
): string[] {
  const [type] = Object.keys(body?.content ?? {})
  if (type === undefined) return []
  const header = `-H ${quoted(`Content-Type: ${type}`)}`
  if (type.startsWith('image/')) return [header, `--data-binary @picture.${type.slice(6)}`]
  const line = JSON.stringify(sent)
  const isKept = line.length <= MOST_CHARACTERS || signatureOf(headers).length > 0
  return [header, `-d ${quoted(isKept ? line : JSON.stringify(sent, null, 2))}`]
}

const MOST_CHARACTERS = 60

/** Options for the response: images go to a file, streams are shown unbuffered. */
function resultOf({ responses }: Operation): string[] {
  const [type = ''] = Object.keys(responses['200']?.content ?? {})
  if (type === 'text/event-stream') return ['-N']
  const extension = { 'image/png': 'png', 'image/webp': 'webp' }[type]
  return extension === undefined ? [] : [`-o picture.${extension}`]
}

/** The schema has header names in lower case; show the identification header as the deployment spells it. */
function headerName({ idHeader }: Naming, name: string): string {
  return name === idHeader.toLowerCase() ? idHeader : name
}

/** Encodes a path segment but leaves colons, which need no encoding and keep DIDs readable. */
function pathSegment(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':')
}

/** The base URL is the deployment's, which may need quotes. */
function quotedUrl(url: string): string {
  const text = quoted(url)
  return text === url ? PLACEHOLDER.urlQuote + url + PLACEHOLDER.urlQuote : text
}

function quoted(text: string): string {
  return /^[\w:/.@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
