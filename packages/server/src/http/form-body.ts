import { CodedError } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'

const FORM = 'application/x-www-form-urlencoded'

/** Accepts only form bodies in this scope. All other routes accept only JSON. */
export function parseFormsStrictly(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(FORM, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    parseForm(body.toString('latin1')),
  )
  scope.addContentTypeParser('*', async () => {
    throw new CodedError('UNSUPPORTED_MEDIA_TYPE', `The body must be a form: ${FORM}.`)
  })
}

/** Reads fields of a parsed form. A field that was not sent is empty. */
export function formFields(body: unknown): (name: string) => string {
  const form = (body ?? new Map()) as ReadonlyMap<string, string>
  return (name) => form.get(name) ?? ''
}

/** @throws CodedError VALIDATION_ERROR if the form is not percent-encoded UTF-8 or repeats a field */
function parseForm(body: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const pair of body.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    if (fields.has(name))
      throw new CodedError('VALIDATION_ERROR', 'The form has a duplicate field.')
    fields.set(name, at < 0 ? '' : decode(pair.slice(at + 1)))
  }
  return fields
}

function decode(text: string): string {
  try {
    if (/[^\u0021-\u007e]/.test(text)) throw new Error('not encoded')
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new CodedError('VALIDATION_ERROR', 'The form is not percent-encoded UTF-8.')
  }
}
