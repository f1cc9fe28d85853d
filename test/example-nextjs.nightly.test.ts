import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertAdmitsVerified, newOrigin, POST, startServices } from './support/example-sites.ts'
import { EXAMPLE, installExample, show } from './support/examples.ts'
import { ROOT } from './support/service.ts'

// Nightly, because Next.js takes half a minute to build.
test('nextjs: the route admits only verified agents, the page everyone', EXAMPLE, async (t) => {
  const services = await startServices(t)
  const ORIGIN = await newOrigin()
  const { port } = new URL(ORIGIN)
  const example = await installExample(t, 'nextjs', services.service, ['gateway'])
  const built = await example.run('npx', ['next', 'build', '..'], { ORIGIN })
  assert.equal(built.code, 0, built.stdout + built.stderr)
  const { stop } = await example.start('npx', ['next', 'start', '--port', port], { ORIGIN })
  assert.match(await (await fetch(ORIGIN)).text(), /A shop for people and agents/)
  // The route, and with it the store of nonces, is younger than the first request to it: the SDK signs that one again.
  const { status, text, line, agent } = await assertAdmitsVerified(
    services,
    ORIGIN,
    '/orders',
    POST,
  )
  assert.deepEqual([status, JSON.parse(text)], [201, { item: 'lamp', orderedBy: agent.did }])
  await stop()
  // A server that has run for a while admits its first signed POST.
  const NODE_OPTIONS = `${example.env.NODE_OPTIONS} --import=${join(ROOT, 'test/support/older-process.mjs')}`
  await example.start('npx', ['next', 'start', '--port', port], { ORIGIN, NODE_OPTIONS })
  const first = await fetch(await agent.sign(`${ORIGIN}/orders`, POST))
  assert.equal(first.status, 201, await first.text())
  show('nextjs', line)
})
