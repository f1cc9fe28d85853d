import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { test } from 'node:test'
import { pino } from 'pino'
import { freePort } from '../../../../test/support/ports.ts'
import { Listeners } from '../../src/http/listeners.ts'
import { bareApp } from '../../src/http/server.ts'

test('a host name with several addresses is served on each, and a stop closes all', async (t) => {
  const { listeners, app } = appOn(['127.0.0.1', '127.0.0.2'])
  t.after(() => listeners.close(app))
  const port = await freePort()
  await listeners.listen(app, 'both', port)
  const urls = [`http://127.0.0.1:${port}/x`, `http://127.0.0.2:${port}/x`]
  for (const url of urls) assert.equal(await (await fetch(url)).text(), 'here')
  await listeners.close(app)
  for (const url of urls) await assert.rejects(fetch(url))
})

test('an address that the machine does not have is skipped', async (t) => {
  const { listeners, app } = appOn(['127.0.0.1', '2001:db8::1'])
  t.after(() => listeners.close(app))
  const port = await freePort()
  await listeners.listen(app, 'half', port)
  assert.equal((await fetch(`http://127.0.0.1:${port}/x`)).status, 200)
})

function appOn(addresses: string[]) {
  const listeners = new Listeners(async () => addresses)
  const app = bareApp({
    log: pino({ level: 'silent' }),
    trustedProxies: [],
    aheadOfRouter: () => false,
    limitConnections: () => undefined,
    answerRouterError: () => undefined,
    onServer: (server: Server, createAnother: () => Server) =>
      listeners.addServer(server, createAnother),
  })
  app.get('/x', async () => 'here')
  return { listeners, app: app as unknown as Parameters<Listeners['close']>[0] }
}
