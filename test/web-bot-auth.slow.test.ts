import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyInput } from '../packages/gateway/src/policy/policy.ts'
import { BOTS, NO_SERVICE, startBotSite } from '../packages/gateway/test/support/directory-site.ts'
import { FRAMEWORKS, type Seen } from '../packages/gateway/test/support/frameworks.ts'
import { SHOP, send } from '../packages/gateway/test/support/signing.ts'
import { BOT_SIGNERS, KEY_SET } from './support/bot-signers.ts'
import { pythonFor, startPythonSite } from './support/python.ts'
import type { Cleanup } from './support/service.ts'

// The signers that the profile `wba` is for, by their published libraries, at both gateways.

const PYTHON = pythonFor('cryptography')
const WBA = {
  directories: [{ url: BOTS, profile: 'wba' }],
  levels: { directory: 'allow' },
} as const satisfies PolicyInput

/** A site behind a gateway that lists the directory of the signers. */
interface Site {
  readonly url: string
  /** At which the signers believe to reach it. */
  readonly origin: string
}

type Told = Pick<NonNullable<Seen['agent']['signature']>, 'profile' | 'replay'>

async function startTypeScriptSite(t: Cleanup, framework: string): Promise<Site> {
  const fetchDirectory = async () => new Response(KEY_SET)
  const { url } = await startBotSite(t, { policy: WBA, fetchDirectory }, framework)
  return { url, origin: SHOP }
}

async function startPython(t: Cleanup, kind: string): Promise<Site> {
  const env = { POLICY: JSON.stringify(WBA), KEY_SET }
  const url = await startPythonSite(t, PYTHON, [kind, NO_SERVICE, 'directories'], env)
  return { url, origin: url }
}

async function checkSigners({ url, origin }: Site) {
  for (const signer of BOT_SIGNERS) {
    for (const lifetimeSeconds of [60, 300, 3_600]) {
      const at = `${signer.name}, ${lifetimeSeconds} s`
      const times = { createdAt: Date.now(), lifetimeSeconds }
      const request = await signer.sign(new Request(`${origin}/a?b=c`), times)
      const answer = await send(url, request)
      assert.equal(answer.status, 200, `${at}: ${answer.text}`)
      const { profile, replay } = (JSON.parse(answer.text) as { agent: { signature: Told } }).agent
        .signature
      assert.deepEqual([profile, replay], ['wba', signer.hasNonce ? 'checked' : 'unchecked'], at)
      assert.equal((await send(url, request)).status, signer.hasNonce ? 401 : 200, `${at}, again`)
    }
    // An hour later, its nonce is not known any more.
    const old = { createdAt: Date.now() - 3_500_000, lifetimeSeconds: 3_600 }
    const late = await signer.sign(new Request(`${origin}/`), old)
    for (let i = 0; i < 2; i++) {
      const answer = await send(url, late)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(JSON.parse(answer.text).agent.signature.replay, 'unchecked', signer.name)
    }
    const year = await signer.sign(new Request(origin), { ...old, lifetimeSeconds: 86_401 })
    assert.equal((await send(url, year)).status, 401, `${signer.name}, more than a day`)
  }
}

for (const framework of Object.keys(FRAMEWORKS)) {
  test(`${framework}: signers by published libraries are admitted with and without a nonce, for a day`, async (t) => {
    await checkSigners(await startTypeScriptSite(t, framework))
  })
}

for (const kind of ['wsgi', 'asgi']) {
  const name = `Python, ${kind.toUpperCase()}: signers by published libraries are admitted with and without a nonce, for a day`
  test(name, PYTHON.options, async (t) => {
    await checkSigners(await startPython(t, kind))
  })
}
