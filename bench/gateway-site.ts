import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { gateway as forExpress } from '@countersign/gateway/express'
import { gateway as forFastify } from '@countersign/gateway/fastify'
import express from 'express'
import fastify from 'fastify'
import { HOST } from './http-exchange.ts'

/** A site, optionally with a gateway in front of it. */
export interface GatewaySiteTask {
  readonly port: number
  readonly framework: 'express' | 'fastify'
  readonly gateway: {
    readonly service: string
    readonly cacheSeconds: number
    /** Requires signed requests of the agents of this issuer; null: takes the header's word. */
    readonly issuer: string | null
  } | null
  /** Without a gateway: whether to verify one signature for each request, and nothing else. */
  readonly verifies: boolean
}

// node gateway-site.ts '<a GatewaySiteTask as JSON>': a minimal site in Express or Fastify.
const { port, framework, gateway, verifies }: GatewaySiteTask = JSON.parse(
  process.argv[2] as string,
)
const proof = gateway?.issuer
  ? { issuer: gateway.issuer, audiences: [`http://${HOST}:${port}`] }
  : null
const options = gateway && {
  service: gateway.service,
  policy: { cacheSeconds: gateway.cacheSeconds, requireProof: proof !== null },
  ...proof,
}
const ANSWER = { hello: 'agent' }
const verifyOnce = verifies ? verifierOf(400) : null

if (framework === 'express') {
  const app = express()
  if (options !== null) app.use(forExpress(options))
  if (verifyOnce !== null) {
    app.use((_request: unknown, _response: unknown, next: () => void) => {
      verifyOnce()
      next()
    })
  }
  app.get('/', (_request, response) => response.json(ANSWER))
  app.listen(port, HOST)
} else {
  const app = fastify()
  if (options !== null) app.register(forFastify(options))
  if (verifyOnce !== null) {
    app.addHook('onRequest', (_request, _reply, done) => {
      verifyOnce()
      done()
    })
  }
  app.get('/', async () => ANSWER)
  await app.listen({ port, host: HOST })
}

/** Verifies the same signature again and again with node:crypto, as a site in Node would. @param size as long as a signature base is */
function verifierOf(size: number): () => void {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const message = Buffer.alloc(size, 97)
  const signature = sign(null, message, privateKey)
  return () => {
    if (!verify(null, message, publicKey, signature)) throw new Error('not verified')
  }
}
