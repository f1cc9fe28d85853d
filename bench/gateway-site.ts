import { gateway as forExpress } from '@countersign/gateway/express'
import { gateway as forFastify } from '@countersign/gateway/fastify'
import express from 'express'
import fastify from 'fastify'
import { HOST } from './http-exchange.ts'

/** A site, optionally with a gateway in front of it. */
export interface GatewaySiteTask {
  readonly port: number
  readonly framework: 'express' | 'fastify'
  readonly gateway: { readonly service: string; readonly cacheSeconds: number } | null
}

// node gateway-site.ts '<a GatewaySiteTask as JSON>': a minimal site in Express or Fastify.
const { port, framework, gateway }: GatewaySiteTask = JSON.parse(process.argv[2] as string)
const options = gateway && {
  service: gateway.service,
  policy: { cacheSeconds: gateway.cacheSeconds },
}
const ANSWER = { hello: 'agent' }

if (framework === 'express') {
  const app = express()
  if (options !== null) app.use(forExpress(options))
  app.get('/', (_request, response) => response.json(ANSWER))
  app.listen(port, HOST)
} else {
  const app = fastify()
  if (options !== null) app.register(forFastify(options))
  app.get('/', async () => ANSWER)
  await app.listen({ port, host: HOST })
}
