import type { IncomingHttpHeaders } from 'node:http'
import { CodedError } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { requireNoCoding } from '../core/http/json-body.ts'

/** What a picture may be declared as. What it is, its bytes say. */
export const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/webp']

/** Replaces the parsers of a scope by one that takes a picture as it comes, and nothing else. */
export function parsePictures(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    PICTURE_TYPES,
    { parseAs: 'buffer' },
    async ({ headers }: { headers: IncomingHttpHeaders }, body: Buffer) => {
      requireNoCoding(headers['content-encoding'])
      return body
    },
  )
  scope.addContentTypeParser('*', (_request, _payload, done) => done(refusal()))
  scope.addHook('preValidation', (request, _reply, done) => {
    const missing = request.method === 'PUT' && !(request.body instanceof Uint8Array)
    done(missing ? refusal() : undefined)
  })
}

function refusal(): CodedError {
  return new CodedError(
    'UNSUPPORTED_MEDIA_TYPE',
    'The body must be a picture: Content-Type: image/png, image/jpeg or image/webp.',
  )
}
