import type { SignatureResult } from '@countersign/protocol'
import { coveredNames, type DecodedRequest, requiredNames } from './decode-request.ts'

/**
 * `signed`: the signature covers it. `unsigned`: anybody on the way can change it. `required`: unsigned, although its signer has to sign it.
 * `signature`: the signature itself.
 */
export type Cover = 'signed' | 'unsigned' | 'required' | 'signature'

interface RequestPart {
  readonly text: string
  readonly cover: Cover
}

/** A line of a request, in parts that are covered or not. */
export interface RequestLine {
  /** Text before the parts that is no part of the request's meaning, such as the name of a field. */
  readonly label: string
  readonly parts: readonly RequestPart[]
  /** Whether "Break it" has changed it. */
  readonly isChanged: boolean
}

/** Longer bodies are cut. */
const MAX_BODY = 4_000

/** Which derived components cover a part (RFC 9421 section 2.2). */
const COVERING: Readonly<Record<string, readonly string[]>> = {
  '@method': ['@method'],
  '@authority': ['@authority', '@target-uri'],
  '@path': ['@path', '@target-uri', '@request-target'],
  '@query': ['@query', '@target-uri', '@request-target'],
}

/**
 * The request line by line, with what the signature covers.
 * @param body null: none was pasted
 */
export function requestLines(
  decoded: DecodedRequest,
  body: string | null,
  { profile, reason }: Pick<SignatureResult, 'profile' | 'reason'>,
  changed: string | null,
): readonly RequestLine[] {
  const { raw, fields } = decoded
  const covered = new Set(coveredNames(decoded))
  const required = new Set(requiredNames(decoded, profile))
  const coverOf = (name: string): Cover => {
    if (name === 'signature' || name === 'signature-input') return 'signature'
    if ((COVERING[name] ?? [name]).some((each) => covered.has(each))) return 'signed'
    return required.has(name) ? 'required' : 'unsigned'
  }
  const [path = '', query] = splitTarget(raw.target)
  const target = [
    { text: `${raw.method} `, cover: coverOf('@method') },
    { text: path, cover: coverOf('@path') },
    ...(query === undefined ? [] : [{ text: query, cover: coverOf('@query') }]),
  ]
  const lines: RequestLine[] = [{ label: '', parts: target, isChanged: changed === '@path' }]
  if (!fields.has('host')) {
    const host = { text: raw.authority, cover: coverOf('@authority') }
    lines.push({ label: 'Host: ', parts: [host], isChanged: false })
  }
  for (const [name, value] of raw.headers) {
    const lower = name.toLowerCase()
    const cover = coverOf(lower === 'host' ? '@authority' : lower)
    lines.push({
      label: `${name}: `,
      parts: [{ text: value.trim(), cover }],
      isChanged: lower === changed,
    })
  }
  if (body !== null) {
    const isDigested = covered.has('content-digest') && reason !== 'digest'
    const cut = body.length > MAX_BODY ? `${body.slice(0, MAX_BODY)}…` : body
    const cover = isDigested ? 'signed' : 'unsigned'
    lines.push({ label: '', parts: [{ text: cut, cover }], isChanged: false })
  }
  return lines
}

function splitTarget(target: string): [string, string?] {
  const mark = target.indexOf('?')
  return mark < 0 ? [target] : [target.slice(0, mark), target.slice(mark)]
}
