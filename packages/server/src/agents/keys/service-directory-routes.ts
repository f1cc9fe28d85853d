import {
  type DirectorySignature,
  KEY_DIRECTORY_PATH,
  KEY_SET_TYPE,
  keySetSchema,
  signDirectory,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import { CACHE_ONE_MINUTE } from '../../http/caching.ts'
import { publicRead } from '../../http/public-read.ts'
import type { App } from '../../http/server.ts'
import type { ServiceKey } from '../../secrets/service-keys.ts'
import { publicJwkOf, sendSignature } from './key-set-routes.ts'

/** Seconds. Longer than a cache may hold the response, plus the time for which a signature is reused. */
const LIFETIME = 300
const REUSE_MS = 60_000

export interface ServiceDirectoryDeps {
  readonly site: Site
  readonly directoryKey: ServiceKey
  readonly now: () => number
}

/** The public keys of the service itself, in a response that each of them signs (draft-meunier-http-message-signatures-directory). */
export function serviceDirectoryRoute(app: App, deps: ServiceDirectoryDeps): void {
  const sign = reusedSignature(deps)
  const body = { keys: [publicJwkOf(deps.directoryKey.publicKey)] }
  publicRead(app, deps.site.naming, {
    url: KEY_DIRECTORY_PATH,
    cacheControl: CACHE_ONE_MINUTE,
    schema: {
      operationId: 'serviceKeySet',
      summary: 'Get the public keys of the service, in a signed response',
      tags: ['resolve'],
      response: {
        200: {
          description: 'The key set',
          content: { [KEY_SET_TYPE]: { schema: keySetSchema('The keys of the service itself') } },
        },
      },
    },
    handler: async (_params, reply) => {
      sendSignature(reply, await sign())
      reply.type(KEY_SET_TYPE).serializer(JSON.stringify)
      return body
    },
  })
}

/** Signs for the host of BASE_URL, never for that of the request, which anyone can choose. One signature serves a minute's requests. */
function reusedSignature({
  site,
  directoryKey: { publicKey, sign },
  now,
}: ServiceDirectoryDeps): () => Promise<DirectorySignature> {
  let signed: { readonly at: number; readonly fields: Promise<DirectorySignature> } | null = null
  return () => {
    const at = now()
    if (signed !== null && Math.abs(at - signed.at) < REUSE_MS) return signed.fields
    const created = Math.floor(at / 1000)
    const expires = created + LIFETIME
    const claim = { authority: site.host, publicKey, created, expires }
    signed = { at, fields: signDirectory(claim, sign) }
    return signed.fields
  }
}
