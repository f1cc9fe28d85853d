import type { PolicyInput } from '@countersign/gateway/internal'
import { DEFAULT_ID_HEADER, DEFAULT_SHORT_NAME } from '@countersign/protocol'
import type { Site } from '../../base/site.ts'

/** Where a gateway runs. `proxy`: `countersign-gateway`, beside a proxy. */
export type Target = 'express' | 'fastify' | 'hono' | 'fetch' | 'proxy'

/** The options of a gateway, without those that have their default. */
interface Configuration {
  readonly service: string
  readonly naming?: { readonly shortName?: string; readonly idHeader?: string }
  readonly audiences?: readonly string[]
  readonly policy?: PolicyInput
}

/** @param policy without the fields that have their default */
export function configurationsOf(
  { baseUrl, naming }: Site,
  audiences: readonly string[],
  policy: PolicyInput,
): Readonly<Record<Target, string>> {
  const names = {
    ...(naming.shortName !== DEFAULT_SHORT_NAME && { shortName: naming.shortName }),
    ...(naming.idHeader !== DEFAULT_ID_HEADER && { idHeader: naming.idHeader }),
  }
  const configuration: Configuration = {
    service: baseUrl,
    ...(Object.keys(names).length > 0 && { naming: names }),
    ...(audiences.length > 0 && { audiences }),
    ...(Object.keys(policy).length > 0 && { policy }),
  }
  const call = `gateway(${literal(configuration)})`
  return {
    express: CODE.express(call),
    fastify: CODE.fastify(call),
    hono: CODE.hono(call),
    fetch: CODE.fetch(call),
    proxy: configurationFile(configuration),
  }
}

/** The file has the names of the deployment among its own fields. */
function configurationFile({ service, naming, ...rest }: Configuration): string {
  return `${JSON.stringify({ service, ...naming, ...rest }, null, 2)}\n`
}

const CODE: Readonly<Record<Exclude<Target, 'proxy'>, (gateway: string) => string>> = {
  express: (gateway) => `import { gateway } from '@countersign/gateway/express'
import express from 'express'

const app = express()
app.use(${gateway})
app.get('/', (request, response) => {
  response.send(\`Hello, \${request.agent.did}\`)
})
app.listen(3000)
`,
  fastify: (gateway) => `import { gateway } from '@countersign/gateway/fastify'
import fastify from 'fastify'

const app = fastify()
app.register(${gateway})
app.get('/', async (request) => \`Hello, \${request.agent.did}\`)
await app.listen({ port: 3000 })
`,
  hono: (gateway) => `import { gateway } from '@countersign/gateway/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.use(${gateway})
app.get('/', (c) => c.text(\`Hello, \${c.get('agent').did}\`))
serve({ fetch: app.fetch, port: 3000 })
`,
  fetch: (gateway) => `import { agentOf, gateway } from '@countersign/gateway/fetch'

const admit = ${gateway}
export default {
  fetch: admit((request) => new Response(\`Hello, \${agentOf(request).did}\`)),
}
`,
}

/** Longest value that stays on one line. */
const LINE = 64

/** JSON-like data as a literal of JavaScript: two spaces a level, single quotes, short values on one line. */
function literal(value: unknown, indent = ''): string {
  const line = onOneLine(value)
  if (typeof value !== 'object' || value === null || line.length <= LINE) return line
  const deeper = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((each) => `${deeper}${literal(each, deeper)},\n`)
    return `[\n${items.join('')}${indent}]`
  }
  const members = Object.entries(value).map(
    ([name, each]) => `${deeper}${name}: ${literal(each, deeper)},\n`,
  )
  return `{\n${members.join('')}${indent}}`
}

/** Names of members are those of a policy: identifiers. */
function onOneLine(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${name}: ${onOneLine(each)}`)
  return `{ ${members.join(', ')} }`
}

function quoted(text: string): string {
  return /^[^'"\\\p{Cc}\u2028\u2029]*$/u.test(text) ? `'${text}'` : JSON.stringify(text)
}
