import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { canonicalJson, type JsonValue } from '@countersign/protocol'
import { openApiOf } from '../../../../test/support/openapi.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { startWith } from '../http/support/start-with.ts'

const FILE = join(import.meta.dirname, 'surface.txt')

/**
 * What others rely on, a line each: routes, operations of /openapi.json (the start of a hash of each), metrics. A change
 * shows in the diff of surface.txt, which UPDATE=1 writes.
 */
test('routes, operations and metrics are those of surface.txt', async (t) => {
  const routes = new Set<string>()
  const METRICS_PORT = String(await freePort())
  const service = await startWith(t, { METRICS_PORT, BASE_URL: 'https://agents.example' }, (app) =>
    app.addHook('onRoute', ({ method, url }) => {
      // The names of assets contain hashes of what they are.
      if (!/^\/(assets|dashboard\/assets|packages)\//.test(url))
        routes.add(`route ${method} ${url}`)
    }),
  )
  const { published } = await openApiOf(service)
  const operations = Object.entries(published.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const text = canonicalJson(operation as unknown as JsonValue)
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
      return `operation ${method.toUpperCase()} ${path} ${hash}`
    }),
  )
  const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  const types = metrics.split('\n').filter((line) => line.startsWith('# TYPE '))
  const lines = [
    ...[...routes].toSorted(),
    ...operations.toSorted(),
    ...types.map((line) => `metric ${line.slice(7)}`),
  ]
  const surface = `${lines.join('\n')}\n`
  if (process.env.UPDATE === '1') writeFileSync(FILE, surface)
  assert.equal(surface, readFileSync(FILE, 'utf8'))
})
