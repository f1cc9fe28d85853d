import { createHash } from 'node:crypto'
import {
  CodedError,
  errorSchema,
  formatTreeSizeAnswer,
  TREE_SIZE_TYPE,
  witnessSchema,
} from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import { REVALIDATE } from '../../http/caching.ts'
import { assertNoContentEncoding } from '../../http/json-body.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { Witness, WitnessAnswer } from './witness.ts'

/** A proof of 63 hashes takes below 3 KiB; the rest is for the note. */
const BODY_LIMIT = 64 * 1024
const TEXT = 'text/plain; charset=utf-8'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The witness of other logs (C2SP tlog-witness): its submission and monitoring prefix is `/witness`. */
export async function witnessRoutes(
  app: App,
  { site, witness }: { readonly site: Site; readonly witness: Witness },
): Promise<void> {
  publicRead(app, site.naming, {
    url: '/witness',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'witness',
      summary: 'The witness of other transparency logs: its key, and the logs that it cosigns',
      tags: ['check'],
      response: { 200: witnessSchema() },
    },
    handler: async () => ({ ...witness.describe(), url: `${site.baseUrl}/witness` }),
  })
  publicRead(app, site.naming, {
    url: '/witness/:originHash/checkpoint',
    cacheControl: REVALIDATE,
    schema: {
      operationId: 'witnessedCheckpoint',
      summary: 'The newest checkpoint of another log that this witness has cosigned',
      description: 'A signed note with the signature of the log and the cosignature.',
      tags: ['check'],
      params: Type.Object({
        originHash: Type.String({
          description: 'SHA-256 of the origin of the log, in lower-case hexadecimal',
        }),
      }),
      response: { 200: textSchema('The signed note') },
    },
    handler: async ({ originHash }: { originHash: string }, reply) => {
      const row = witness.witnessed.find(({ origin }) => hashOf(origin) === originHash)
      if (row === undefined || row.checkpoint === null)
        throw new CodedError('NOT_FOUND', 'This witness has not cosigned such a log.')
      reply.type(TEXT)
      return row.checkpoint
    },
  })
  await app.register(async (scope) => addCheckpointRoute(scope as unknown as App, witness))
}

function addCheckpointRoute(app: App, witness: Witness): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_LIMIT },
    async ({ headers }: { headers: { 'content-encoding'?: string | undefined } }, body: Buffer) => {
      assertNoContentEncoding(headers['content-encoding'])
      return body
    },
  )
  app.post('/witness/add-checkpoint', {
    bodyLimit: BODY_LIMIT,
    schema: {
      operationId: 'addCheckpoint',
      summary: 'Cosign a checkpoint of another log',
      description:
        'C2SP tlog-witness: a line `old <size>`, a consistency proof, an empty line and the checkpoint, as text. Answers with these status codes are plain text.',
      tags: ['check'],
      response: {
        200: textSchema('The signature line of the witness'),
        400: textSchema('The body is malformed, or the old size is above that of the checkpoint'),
        403: textSchema('The checkpoint is not signed by a key of the log'),
        404: textSchema('This witness does not cosign the log'),
        409: {
          description: 'The size that was cosigned last, or: the same size with another root',
          content: {
            [TREE_SIZE_TYPE]: { schema: { type: 'string' } },
            'text/plain': { schema: { type: 'string' } },
          },
        },
        422: textSchema('The proof is invalid'),
        '4xx': errorSchema(),
        '5xx': errorSchema(),
      },
    },
    handler: async (request, reply) => {
      const body = textOf(request.body)
      const { status, type, text } = describe(await witness.addCheckpoint(body))
      reply.header('cache-control', 'no-store')
      return reply
        .code(status)
        .type(type)
        .send(text as never)
    },
  })
}

/** @returns nothing if the body is missing or not UTF-8, which is malformed too */
function textOf(body: unknown): string {
  if (!Buffer.isBuffer(body)) return ''
  try {
    return decoder.decode(body)
  } catch {
    return ''
  }
}

interface TextAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422
  readonly type: string
  readonly text: string
}

function describe(answer: WitnessAnswer): TextAnswer {
  switch (answer.kind) {
    case 'cosigned':
      return { status: 200, type: TEXT, text: answer.line }
    case 'malformed':
      return text(400, 'The body is malformed, or its old size is above that of the checkpoint.')
    case 'unknown_log':
      return text(404, 'This witness does not cosign this log.')
    case 'not_signed':
      return text(403, 'The checkpoint is not signed by a key of this log.')
    case 'other_size':
      return { status: 409, type: TREE_SIZE_TYPE, text: formatTreeSizeAnswer(answer.size) }
    case 'other_root':
      // Without the size: a client that reads it would only ask again.
      return text(409, 'This witness has cosigned another root for this size.')
    case 'inconsistent':
      return text(422, 'The proof does not lead from the tree that was cosigned last to this one.')
  }
}

function text(status: TextAnswer['status'], message: string): TextAnswer {
  return { status, type: TEXT, text: `${message}\n` }
}

function hashOf(origin: string): string {
  return createHash('sha256').update(origin).digest('hex')
}

function textSchema(description: string) {
  return { description, content: { 'text/plain': { schema: { type: 'string' } } } }
}
