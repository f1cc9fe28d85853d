import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { certificatePath, KEY_SET } from '../../../../test/support/agent-certificates.ts'
import { copyIssuerKeys } from '../../../../test/support/copy-issuer-keys.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

const MINUTE = 60_000
/** Both nodes have to read the news after each move of the clock, beside other tests. */
const PATIENCE_MS = 150_000

test(
  'while two nodes serve, a rotation waits for both, and every certificate verifies with a key set of the last ten minutes of either',
  POSTGRES_ONLY,
  async (t) => {
    let ahead = 0
    const now = () => Date.now() + ahead
    const elapsed = () => performance.now() + ahead
    const one = await startTestService(t, {}, now, elapsed)
    const otherDir = tempDir(t)
    for (const file of ['identity-pepper', 'directory-key', 'webhook-key', 'log-key', 'a2a-key'])
      copyFileSync(join(one.settings.dataDir, file), join(otherDir, file))
    copyIssuerKeys(one.settings.dataDir, otherDir)
    const { BASE_URL: _, PORT: _port, ...shared } = one.env
    const two = await startTestService(
      t,
      { ...shared, DATA_DIR: otherDir, BASE_URL: one.url },
      now,
      elapsed,
    )
    const nodes = [one, two]
    const did = await claimAgent(one, await one.operator.addVerifiedOwner())
    for (const node of nodes) await untilLogged(node, 1)
    const fetched: { readonly at: number; readonly keys: JSONWebKeySet }[] = []
    let seen: ReadonlySet<string> = new Set()

    /** A certificate and a key set of each node. Null while one answers 503, because the clock was moved. */
    const observe = async () => {
      for (const node of nodes) node.tick()
      const responses = await Promise.all(
        nodes.flatMap(({ url }) => [fetch(`${url}${KEY_SET}`), fetch(url + certificatePath(did))]),
      )
      if (responses.some(({ status }) => status !== 200)) return null
      const texts = await Promise.all(responses.map((each) => each.text()))
      const [setOne = '', first = '', setTwo = '', second = ''] = texts
      for (const text of [setOne, setTwo]) fetched.push({ at: now(), keys: JSON.parse(text) })
      return [first, second]
    }
    const assertVerified = async (certificates: readonly string[]) => {
      const recent = fetched.filter(({ at }) => at > now() - 10 * MINUTE)
      for (const { keys } of recent) {
        for (const certificate of certificates) {
          const options = { issuer: one.url, currentDate: new Date(now()) }
          const { protectedHeader } = await jwtVerify(certificate, createLocalJWKSet(keys), options)
          seen = new Set([...seen, protectedHeader.kid as string])
        }
      }
    }
    await until(async () => (await observe()) !== null)
    const [here, there] = (await observe()) as [string, string]
    assert.equal(here, there, 'both nodes make the same certificate')
    await assertVerified([here])

    const rotated = await countersignd(one.env, 'issuer-key', 'rotate', '--json')
    const { id, file } = JSON.parse(rotated.stdout) as { id: string; file: string }
    for (let minutes = 0; minutes < 15; minutes++) {
      ahead += MINUTE
      await until(async () => {
        const certificates = await observe()
        if (certificates !== null) await assertVerified(certificates)
        return certificates !== null
      }, PATIENCE_MS)
    }
    assert.ok(!seen.has(id), 'the second node has no file yet')
    const state = await stateOf(one, id)
    assert.equal(state, 'published')

    copyFileSync(join(one.settings.dataDir, file), join(otherDir, file))
    await until(async () => {
      const certificates = await observe()
      if (certificates !== null) {
        await assertVerified(certificates)
        ahead += MINUTE
      }
      return seen.has(id) && (await stateOf(one, id)) === 'active'
    })
  },
)

async function stateOf({ env }: TestService, id: string): Promise<string | undefined> {
  const { stdout } = await countersignd(env, 'issuer-key', 'list', '--json')
  const keys = JSON.parse(stdout) as { id: string; state: string }[]
  return keys.find((each) => each.id === id)?.state
}
