import assert from 'node:assert/strict'
import { replaceKey } from './replace-key.ts'
import type { TestService } from './service.ts'
import { until } from './until.ts'

/** Replaces the key of an agent, as a rotation would, and waits until the service shows it. @param publicKey 32 bytes */
export async function rotateKey(
  service: TestService,
  did: string,
  publicKey: Uint8Array,
): Promise<void> {
  const current = async () => {
    const response = await fetch(`${service.url}/api/agents/${did}`)
    assert.equal(response.status, 200)
    return ((await response.json()) as { publicKey: string }).publicKey
  }
  await replaceKey(service.operator.db, did.slice(-24), publicKey)
  const expected = Buffer.from(publicKey).toString('base64')
  await until(async () => (await current()) === expected)
}
