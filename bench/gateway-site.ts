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
  /** What verifies: with a gateway, signed requests; without, one signature for each request, and nothing else is done; null: nothing does. */
  readonly verifier: 'libsodium' | 'node:crypto' | null
}

// node gateway-site.ts '<a GatewaySiteTask as JSON>': a minimal site in Express or Fastify.
const { port, framework, gateway, verifier }: GatewaySiteTask = JSON.parse(
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
/** As long as a signature base is. */
const MESSAGE = Buffer.alloc(400, 97)
const verifyOnce =
  verifier === null || gateway !== null
    ? null
    : await { libsodium, 'node:crypto': nodeCrypto }[verifier]()

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

/** Each verifies the same signature again and again. */
async function libsodium(): Promise<() => void> {
  const { default: sodium } = await import('sodium-native')
  const { keyPairOf } = await import('./keys.ts')
  const { publicKey, secretKey } = keyPairOf('gateway site')
  const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
  sodium.crypto_sign_detached(signature, MESSAGE, secretKey)
  return () => assertValid(sodium.crypto_sign_verify_detached(signature, MESSAGE, publicKey))
}

function nodeCrypto(): () => void {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signature = sign(null, MESSAGE, privateKey)
  return () => assertValid(verify(null, MESSAGE, publicKey, signature))
}

function assertValid(isValid: boolean): void {
  if (!isValid) throw new Error('not verified')
}
