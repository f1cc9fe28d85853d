import { DEFAULT_ID_HEADER, DEFAULT_SHORT_NAME } from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { EnteredPolicy } from './entered-policy.ts'
import { formatJson, formatScript } from './format-literal.ts'

/** Where a gateway runs. `proxy`: `countersign-gateway`, beside a proxy. */
export type Target = keyof typeof CODE | 'proxy'

/** The configuration of a gateway for each target, with the names of the deployment. */
export function configurationsOf(
  { baseUrl, naming }: Site,
  { audiences, input, policy: { mode } }: EnteredPolicy,
): Readonly<Record<Target, string>> {
  const names = {
    ...(naming.shortName !== DEFAULT_SHORT_NAME && { shortName: naming.shortName }),
    ...(naming.idHeader !== DEFAULT_ID_HEADER && { idHeader: naming.idHeader }),
  }
  const options = formatScript({
    service: baseUrl,
    ...(Object.keys(names).length > 0 && { naming: names }),
    audiences,
    policy: input,
  })
  const call = `gateway(${mode === 'shadow' ? options.replace(/}$/, LOG) : options})`
  return {
    express: CODE.express(call),
    fastify: CODE.fastify(call),
    hono: CODE.hono(call),
    fetch: CODE.fetch(call),
    nextjs: CODE.nextjs(call),
    // The file has the names of the deployment among its own fields.
    proxy: `${formatJson({ service: baseUrl, ...names, audiences, policy: input })}\n`,
  }
}

/** Nothing else shows what shadow mode decides. */
const LOG = `  onDecision: ({ action, did, reasons }) => {
    console.log(action, did, reasons[0].code)
  },
}`

const CODE = {
  express: (gateway: string) => `import { gateway } from '@countersign/gateway/express'
import express from 'express'

const app = express()
app.use(${gateway})
app.get('/', (request, response) => {
  response.send(\`Hello, \${request.agent.did ?? 'visitor'}\`)
})
app.listen(3000)
`,
  fastify: (gateway: string) => `import { gateway } from '@countersign/gateway/fastify'
import fastify from 'fastify'

const app = fastify()
app.register(${gateway})
app.get('/', async (request) => \`Hello, \${request.agent.did ?? 'visitor'}\`)
await app.listen({ port: 3000 })
`,
  hono: (gateway: string) => `import { gateway } from '@countersign/gateway/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.use(${gateway})
app.get('/', (c) => c.text(\`Hello, \${c.get('agent').did ?? 'visitor'}\`))
serve({ fetch: app.fetch, port: 3000 })
`,
  fetch: (gateway: string) => `import { agentOf, gateway } from '@countersign/gateway/fetch'

const admit = ${gateway}
export default {
  fetch: admit((request) => {
    const { did } = agentOf(request)
    return new Response(\`Hello, \${did ?? 'visitor'}\`)
  }),
}
`,
  nextjs: (gateway: string) => `import { agentOf, gateway } from '@countersign/gateway/fetch'

const admit = ${gateway}
const hello = admit((request) => {
  const { did } = agentOf(request)
  return new Response(\`Hello, \${did ?? 'visitor'}\`)
})
export { hello as GET, hello as POST }
`,
}
