import { MAX_BODY_BYTES, readBody } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** @throws CountersignError INVALID_ARGUMENT if the body is larger than MAX_BODY_BYTES */
export async function bufferBody(request: Request): Promise<Uint8Array<ArrayBuffer> | null> {
  const body = await readBody(request)
  if (body !== 'too-large') return body
  throw new CountersignError(
    'INVALID_ARGUMENT',
    `A signed request has at most ${MAX_BODY_BYTES} bytes of body: its signature covers a digest of all of it.`,
  )
}
